// kgpu-sim: simulated GPU hosts. docs/how-it-works/simulated-driver.md is its manual.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "testing/apiserver/cli.h"
#include "testing/kubelet/cli.h"
#include "testing/simhost/cli.h"

int main(int argc, char** argv) {
  try {
    std::error_code error;
    kgpu::simhost::CliContext context;
    context.program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    context.print = [](const std::string& line) { fmt::print("{}\n", line); };
    return kgpu::simhost::RunSim(
        std::vector<std::string>(argv + 1, argv + argc), context,
        {kgpu::apiserver::AddApiserverVerb, kgpu::kubelet::AddKubeletVerbs});
  } catch (const std::exception& exception) {
    fmt::print(stderr, "kgpu sim: {}\n", exception.what());
    return 1;
  }
}
