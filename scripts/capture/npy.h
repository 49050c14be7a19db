// Reads and writes .npy (versions 1 to 3, C order, little-endian), as codes: what the numbers are, the
// caller says.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Array {
    std::string descr;  // such as "<f2"
    std::vector<size_t> shape;
    std::vector<uint8_t> bytes;

    size_t elements() const {
        size_t n = 1;
        for (size_t axis : shape) n *= axis;
        return n;
    }
};

inline std::string shape_text(const std::vector<size_t>& shape) {
    std::string text;
    for (size_t axis : shape) text += (text.empty() ? "" : "x") + std::to_string(axis);
    return text;
}

inline std::string read_whole(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    if (in && in.peek() != EOF) all << in.rdbuf();
    if (!(in || in.eof()) || !all) throw std::runtime_error(path + ": cannot be read");
    return all.str();
}

/// The value after 'key': in the header's dictionary, which NumPy writes in one way only.
inline std::string header_value(const std::string& header, const std::string& key) {
    size_t at = header.find("'" + key + "'");
    if (at == std::string::npos || (at = header.find(':', at)) == std::string::npos) return "";
    at = header.find_first_not_of(" ", at + 1);
    if (at == std::string::npos) return "";
    const char first = header[at];
    const char last = first == '(' ? ')' : first == '\'' ? '\'' : ',';
    size_t end = header.find(last, at + 1);
    if (end == std::string::npos) return "";
    bool quoted = first == '(' || first == '\'';
    return quoted ? header.substr(at + 1, end - at - 1) : header.substr(at, end - at);
}

/// An array of elements of `width` bytes each, whatever the header calls them.
inline Array read_npy(const std::string& path, size_t width) {
    auto fail = [&](const std::string& why) -> std::runtime_error {
        return std::runtime_error(path + ": " + why);
    };
    std::string file = read_whole(path);
    if (file.size() < 12 || file.compare(0, 6, "\x93NUMPY") != 0) throw fail("is no .npy file");
    const uint8_t* raw = reinterpret_cast<const uint8_t*>(file.data());
    bool long_header = raw[6] >= 2;
    size_t start = long_header ? 12 : 10;
    size_t length = raw[8] | size_t(raw[9]) << 8;
    if (long_header) length |= size_t(raw[10]) << 16 | size_t(raw[11]) << 24;
    if (raw[6] < 1 || raw[6] > 3 || length > file.size() - start) throw fail("has a damaged header");
    std::string header = file.substr(start, length);

    Array array;
    array.descr = header_value(header, "descr");
    if (array.descr.size() < 3) throw fail("has no plain element type");
    if (array.descr[0] == '>') throw fail("is big-endian; save it little-endian");
    if (array.descr[1] == 'O') throw fail("holds Python objects");
    if (header_value(header, "fortran_order") != "False") throw fail("is in Fortran order; save it in C order");
    if (array.descr.substr(2) != std::to_string(width))
        throw fail("has elements '" + array.descr + "'; the format has " + std::to_string(width) + " bytes");
    size_t elements = 1;
    std::istringstream axes(header_value(header, "shape"));
    for (std::string axis; std::getline(axes, axis, ',');) {
        if (axis.find_first_not_of(" ") == std::string::npos) continue;
        size_t value = std::stoull(axis);
        if (value != 0 && elements > (size_t(1) << 40) / value) throw fail("is too large");
        array.shape.push_back(value);
        elements *= value;
    }
    size_t body = start + length;
    if (file.size() - body != elements * width) throw fail("does not hold what its header says");
    array.bytes.assign(raw + body, raw + file.size());
    return array;
}

/// Writes beside the place and renames, so that the file appears whole or not at all.
inline void write_file(const std::string& path, const std::string& head, const std::vector<uint8_t>& body) {
    std::string part = path + ".part";
    std::ofstream out(part, std::ios::binary);
    out.write(head.data(), std::streamsize(head.size()));
    if (!body.empty()) out.write(reinterpret_cast<const char*>(body.data()), std::streamsize(body.size()));
    out.close();
    if (!out || std::rename(part.c_str(), path.c_str()) != 0) {
        std::remove(part.c_str());
        throw std::runtime_error(path + ": cannot be written");
    }
}

inline void write_npy(const std::string& path, const Array& array) {
    std::string shape;
    for (size_t axis : array.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(axis);
    if (array.shape.size() == 1) shape += ",";
    std::string header = "{'descr': '" + array.descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    // Magic, version and length take 10 bytes, a line feed ends it, and the whole is a multiple of 64.
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    std::string head("\x93NUMPY\x01\x00", 8);
    head += char(header.size() & 255);
    head += char(header.size() >> 8);
    write_file(path, head + header, array.bytes);
}
