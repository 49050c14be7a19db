// Suites and results: JSON that is read, the SHA-256 that seals it, and JSON that is written.
#pragma once
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../capture/sha256.h"

/// A value of a document; what is not there reads as nothing.
class Value {
  public:
    enum Kind { NOTHING, TRUTH, NUMBER, TEXT, LIST, OBJECT };
    Kind kind = NOTHING;
    std::string text;  // of numbers, too
    std::vector<Value> list;
    std::map<std::string, Value> fields;

    const Value& operator[](const std::string& key) const {
        static const Value none;
        auto found = fields.find(key);
        return found == fields.end() ? none : found->second;
    }
    std::string word(const std::string& what) const {
        if (kind != TEXT) throw std::runtime_error("the suite: " + what + " is no text");
        return text;
    }
    std::string word_or(const std::string& otherwise) const { return kind == TEXT ? text : otherwise; }
    unsigned long long number(const std::string& what) const {
        bool digits = kind == NUMBER && !text.empty() && text.size() < 19;
        for (char c : text) digits = digits && c >= '0' && c <= '9';
        if (!digits) throw std::runtime_error("the suite: " + what + " is no whole number");
        return std::stoull(text);
    }
};

/// Reads JSON as 'tcverify screen make' writes it.
class Parser {
  public:
    explicit Parser(const std::string& text) : text_(text) {}

    Value whole() {
        Value value = one(0);
        space();
        if (at_ != text_.size()) fail();
        return value;
    }

  private:
    [[noreturn]] void fail() const {
        throw std::runtime_error("the suite is damaged, or was cut short: no JSON at byte " + std::to_string(at_));
    }
    void space() {
        while (at_ < text_.size() && std::string(" \n\t\r").find(text_[at_]) != std::string::npos) at_++;
    }
    bool next(char c) {
        space();
        if (at_ < text_.size() && text_[at_] == c) return at_++, true;
        return false;
    }
    void expect(char c) {
        if (!next(c)) fail();
    }
    std::string quoted() {
        expect('"');
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            char c = text_[at_++];
            if (c == '\\') {
                if (at_ == text_.size()) fail();
                c = text_[at_++];
                if (c == 'n') c = '\n';
                else if (c == 't') c = '\t';
                else if (c != '"' && c != '\\' && c != '/') fail();
            }
            out += c;
        }
        expect('"');
        return out;
    }
    Value one(int depth) {
        if (depth > 64) fail();
        Value value;
        space();
        if (next('{')) {
            value.kind = Value::OBJECT;
            if (next('}')) return value;
            do {
                space();
                std::string key = quoted();
                expect(':');
                value.fields[key] = one(depth + 1);
            } while (next(','));
            expect('}');
        } else if (next('[')) {
            value.kind = Value::LIST;
            if (next(']')) return value;
            do value.list.push_back(one(depth + 1));
            while (next(','));
            expect(']');
        } else if (at_ < text_.size() && text_[at_] == '"') {
            value.kind = Value::TEXT;
            value.text = quoted();
        } else {
            size_t start = at_;
            while (at_ < text_.size() && (isalnum((unsigned char)text_[at_]) || text_[at_] == '-' || text_[at_] == '+' ||
                                          text_[at_] == '.'))
                at_++;
            value.text = text_.substr(start, at_ - start);
            if (value.text == "true" || value.text == "false") value.kind = Value::TRUTH;
            else if (value.text == "null") value.kind = Value::NOTHING;
            else if (!value.text.empty()) value.kind = Value::NUMBER;
            else fail();
        }
        return value;
    }

    const std::string& text_;
    size_t at_ = 0;
};

/// A sealed document: {"schema":...,"tool":...,"sha256":...,"content":...} on one line.
struct Sealed {
    std::string tool, digest;
    Value content;
};

inline Sealed unseal(const std::string& text, const std::string& schema) {
    Value all = Parser(text).whole();
    if (all["schema"].word_or("") != schema) throw std::runtime_error("the suite is no " + schema);
    const std::string key = "\"content\":";
    size_t from = text.find(key), to = text.find_last_of('}');
    if (from == std::string::npos || to == std::string::npos || to <= from)
        throw std::runtime_error("the suite has no content");
    from += key.size();
    std::string digest = sha256(text.data() + from, to - from);
    if (digest != all["sha256"].word("sha256"))
        throw std::runtime_error("the suite was edited or damaged: its content has not the SHA-256 that it says");
    return {all["tool"].word("tool"), digest, all["content"]};
}

/// JSON in the order in which it is written, on one line.
class Writer {
  public:
    std::string out;
    Writer& key(const std::string& name) { return comma(), out += quote(name) + ":", fresh_ = true, *this; }
    Writer& text(const std::string& value) { return comma(), out += quote(value), fresh_ = false, *this; }
    Writer& number(unsigned long long value) {
        return comma(), out += std::to_string(value), fresh_ = false, *this;
    }
    Writer& raw(const std::string& value) { return comma(), out += value, fresh_ = false, *this; }
    Writer& open(char c) { return comma(), out += c, fresh_ = true, *this; }
    Writer& close(char c) { return out += c, fresh_ = false, *this; }

    static std::string quote(const std::string& value) {
        std::string all = "\"";
        for (unsigned char c : value) {
            char code[8];
            if (c == '"' || c == '\\') all += '\\', all += char(c);
            else if (c < 0x20 || c == 0x7f) std::snprintf(code, sizeof code, "\\u%04x", c), all += code;
            else if (c > 0x7f) all += '?';
            else all += char(c);
        }
        return all + "\"";
    }

  private:
    void comma() {
        if (!fresh_) out += ',';
    }
    bool fresh_ = true;
};

inline std::string seal(const std::string& schema, const std::string& tool, const std::string& content) {
    Writer all;
    all.open('{').key("schema").text(schema).key("tool").text(tool);
    all.key("sha256").text(sha256(content.data(), content.size())).key("content").raw(content).close('}');
    return all.out + "\n";
}

/// The leaf of a tile: 00 and its payload, hashed.
inline std::string leaf_of(const std::vector<unsigned char>& payload) {
    std::vector<unsigned char> all(1, 0);
    all.insert(all.end(), payload.begin(), payload.end());
    return sha256(all.data(), all.size());
}
