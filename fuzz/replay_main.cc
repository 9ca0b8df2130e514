// Feeds every file of the folder named by argv[1] to a fuzz target, so that seeds and past crashes
// are replayed by an ordinary test under any compiler. An empty or missing folder is a failure: a
// corpus that is not found would be a test that cannot fail.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: replay CORPUS_FOLDER\n", stderr);
    return 2;
  }
  std::error_code error;
  std::vector<std::filesystem::path> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) {
    if (entry.is_regular_file()) {
      seeds.push_back(entry.path());
    }
  }
  if (error || seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds\n", argv[1]);
    return 1;
  }
  for (const auto& seed : seeds) {
    std::ifstream in(seed, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::printf("%s\n", seed.filename().c_str());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu seeds replayed\n", seeds.size());
  return 0;
}
