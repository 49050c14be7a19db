// Runs what screen.cu runs but the GPU: D comes from files. screencheck SUITE.json FOLDER OUT.json [SM BYTE BIT]
// FOLDER holds PRODUCT.bin, the payload of the right D; on SM, a bit of a byte of every D is inverted. With SM 6, which
// is not there, no bit is, and the last of the six SMs computes nothing.
//   screencheck sensors ROOT BUS: what AMD's driver says of a GPU, in files below ROOT.
#include <iostream>

#include "run.h"
#include "sensors.h"

int main(int count, char** words) try {
    if (count == 4 && std::string(words[1]) == "sensors") {
        Amdgpu gpu(words[3], words[2]);
        std::cout << gpu.temperature() << " " << gpu.clock() << " " << gpu.driver() << " " << gpu.unique() << "\n";
        return 0;
    }
    if (count != 4 && count != 7) throw std::runtime_error("see the head of screencheck.cpp");
    Suite suite = read_suite(read_whole(words[1]));
    std::string folder = words[2], output = words[3];
    int broken = count == 7 ? std::stoi(words[4]) : -1;
    Machine machine;
    machine.host = "check", machine.name = "none", machine.architecture = suite.arch;
    machine.program = "screencheck", machine.multiprocessors = 6;
    machine.reason = [](const Product& product) {
        return product.library ? std::string("a library computes it") : std::string();
    };
    machine.compute = [&](const Product& product) {
        std::string right = read_whole(folder + "/" + product.name + ".bin");
        if (right.size() != product.d_bytes()) throw std::runtime_error(product.name + ".bin has another size");
        Answers answers;
        for (int sm = 0; sm < (product.every_sm ? 6 - (broken == 6) : 1); sm++) {
            answers.all.insert(answers.all.end(), right.begin(), right.end());
            answers.sms.push_back(product.every_sm ? sm : -1);
            if (sm == broken && product.every_sm) {
                u8* d = &answers.all[answers.all.size() - right.size()];
                d[std::stoul(words[5]) % right.size()] ^= 1 << std::stoi(words[6]);
            }
        }
        return answers;
    };
    machine.sense = [](int& degrees, int& clock) { degrees = 50, clock = 1000; };
    Screening screening(suite, machine, output, false);
    bool right = screening.run(0);
    write_file(output, screening.results(), {});
    std::cout << screening.wrong() << " of " << screening.compared() << "\n";
    return right ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << "screencheck: " << error.what() << "\n";
    return 2;
}
