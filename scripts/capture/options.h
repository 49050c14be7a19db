// The command line: words, then --name value pairs; what is left over is an error.
#pragma once
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

class Options {
  public:
    Options(int count, char** words, const std::set<std::string>& values, const std::set<std::string>& flags) {
        for (int i = 1; i < count; i++) {
            std::string word = words[i];
            if (word.size() < 2 || word[0] != '-') {
                plain.push_back(word);
            } else if (flags.count(word)) {
                named_[word] = "yes";
            } else if (!values.count(word)) {
                throw std::runtime_error(word + ": there is no such option");
            } else if (i + 1 == count) {
                throw std::runtime_error(word + ": a value is missing");
            } else {
                named_[word] = words[++i];
            }
        }
    }

    bool has(const std::string& name) const { return named_.count(name) > 0; }
    std::string get(const std::string& name, const std::string& otherwise) const {
        auto found = named_.find(name);
        return found == named_.end() ? otherwise : found->second;
    }
    std::string need(const std::string& name) const {
        if (!has(name)) throw std::runtime_error(name + " is missing");
        return get(name, "");
    }

    std::vector<std::string> plain;

  private:
    std::map<std::string, std::string> named_;
};

/// A whole number and nothing else.
inline unsigned long long whole_number(const std::string& text, const std::string& what) {
    size_t used = 0;
    unsigned long long value = 0;
    bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    try {
        if (digits) value = std::stoull(text, &used);
    } catch (const std::exception&) {
        digits = false;
    }
    if (!digits) throw std::runtime_error("\"" + text + "\" is no " + what);
    return value;
}
