#include "tests/engines/image.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "tests/e2e/program.h"

namespace kgpu::engines {
namespace {

constexpr unsigned kNvidiaMajor = 195;
constexpr const char* kReportScript = KGPU_SOURCE_DIR "/tests/engines/report.sh";

// The architecture as images name it.
std::string Architecture() {
  utsname name{};
  EXPECT_EQ(uname(&name), 0);
  return std::string(name.machine) == "aarch64" ? "arm64" : "amd64";
}

void MustRun(const std::vector<std::string>& argv) {
  const e2e::Result result = e2e::RunProgram(argv);
  EXPECT_EQ(result.code, 0) << argv[0] << ": " << result.err;
}

std::string Quoted(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", text);
  }
  return list;
}

}  // namespace

Image::Image(const ImageOptions& options) : options_(options) {
  e2e::MakeImageTree(rootfs(), options.family, {"load-library"});
  std::filesystem::copy_file(kReportScript, dir_.At("rootfs/report"));
  dir_.MakeDir("rootfs/image-nodes");
  for (unsigned gpu = 0; options.has_nodes && gpu < 4; ++gpu) {
    EXPECT_TRUE(
        dir_.MakeCharDevice(fmt::format("rootfs/image-nodes/nvidia{}", gpu), kNvidiaMajor, gpu));
  }
}

std::string Image::archive() {
  const std::string path = dir_.At("image.tar");
  if (std::filesystem::exists(path)) {
    return path;
  }
  dir_.MakeDir("archive");
  const std::string layer = dir_.At("archive/layer.tar");
  MustRun({"/bin/tar", "-C", rootfs(), "-cf", layer, "."});
  const std::string digest = e2e::RunProgram({"/usr/bin/sha256sum", layer}).out.substr(0, 64);
  std::vector<std::string> env = {"PATH=/bin:/usr/bin"};
  env.insert(env.end(), options_.env.begin(), options_.env.end());
  dir_.WriteFile("archive/config.json",
                 fmt::format(R"({{"architecture":"{}","os":"linux","config":{{"Env":[{}],)"
                             R"("Entrypoint":["/bin/sleep"],"Cmd":["1000"]}},)"
                             R"("rootfs":{{"type":"layers","diff_ids":["sha256:{}"]}}}})",
                             Architecture(), Quoted(env), digest));
  dir_.WriteFile("archive/manifest.json",
                 fmt::format(R"([{{"Config":"config.json","RepoTags":["{}"],)"
                             R"("Layers":["layer.tar"]}}])",
                             kImageName));
  MustRun({"/bin/tar", "-C", dir_.At("archive"), "-cf", path, "."});
  return path;
}

}  // namespace kgpu::engines
