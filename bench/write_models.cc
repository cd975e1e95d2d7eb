// Writes the models of docs/performance.md: networks with their weights in the file, and chains.
// usage: write_models FOLDER
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "bench/synthetic.h"

namespace {

bool Write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  fmt::print("{}  {} bytes\n", path.string(), bytes.size());
  return file.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: write_models FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  bool good = true;
  for (const char* network : {"resnet50", "vgg16"}) {
    good &= Write(folder / (std::string(network) + "_weights.onnx"),
                  dlcost::bench::WithStoredWeights(network));
  }
  for (const int nodes : {20'000, 200'000}) {
    good &= Write(folder / fmt::format("chain_{}.onnx", nodes), dlcost::bench::Chain(nodes));
  }
  return good ? 0 : 2;
}
