// A JSON object, in the order in which it is filled: the provenance beside every output.
#pragma once
#include <cstdio>
#include <string>

class Json {
  public:
    void text(const std::string& key, const std::string& value) { raw(key, quoted(value)); }
    void number(const std::string& key, unsigned long long value) { raw(key, std::to_string(value)); }
    void boolean(const std::string& key, bool value) { raw(key, value ? "true" : "false"); }
    void object(const std::string& key, const Json& inner) { raw(key, "{" + inner.body_ + "\n  }"); }
    std::string whole() const { return "{" + body_ + "\n}\n"; }

  private:
    void raw(const std::string& key, const std::string& value) {
        body_ += (body_.empty() ? "\n  " : ",\n  ") + quoted(key) + ": " + value;
    }

    static std::string quoted(const std::string& value) {
        std::string out = "\"";
        for (unsigned char c : value) {
            if (c == '"' || c == '\\') out += '\\', out += char(c);
            else if (c < 0x20) { char code[8]; std::snprintf(code, sizeof code, "\\u%04x", c); out += code; }
            else out += char(c);
        }
        return out + "\"";
    }

    std::string body_;
};
