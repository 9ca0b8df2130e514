#include "tests/chart/go_program.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include "src/platform/doc/doc.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

const std::string kBuild = KGPU_SOURCE_DIR "/build";
// Unpacked by tests/engines/fetch_suites.sh.
const std::string kTrixie = kBuild + "/engines/trixie/usr";
const std::string kGo = kTrixie + "/lib/go-1.24";

StatusOr<std::string> BuildGo(const std::string& name) {
  const std::string program = fmt::format("{}/go-cache/{}", kBuild, name);
  const Result result = RunProgram(
      {"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "GOROOT=" + kGo, "GO111MODULE=off",
       "GOTOOLCHAIN=local", "CGO_ENABLED=0", fmt::format("GOPATH={}/share/gocode", kTrixie),
       fmt::format("GOCACHE={}/go-cache", kBuild), fmt::format("HOME={}/go-cache", kBuild),
       kGo + "/bin/go", "build", "-o", program,
       fmt::format("{}/tests/chart/{}.go", KGPU_SOURCE_DIR, name)},
      std::chrono::minutes(9));
  if (result.code != 0) {
    return FailedPrecondition("building {}.go: {}", name, result.err);
  }
  return program;
}

}  // namespace

std::string WhyNoGo() {
  return access((kGo + "/bin/go").c_str(), X_OK) == 0
             ? ""
             : "no Go here: run tests/engines/fetch_suites.sh";
}

StatusOr<boost::json::value> RunGo(const std::string& folder, const std::string& name,
                                   const boost::json::value& input) {
  const auto program = BuildGo(name);
  if (!program.ok()) {
    return program.status();
  }
  const std::string file = fmt::format("{}/{}.json", folder, name);
  std::ofstream(file) << boost::json::serialize(input);
  const Result result = RunProgram({"/bin/sh", "-c", R"(exec "$0" <"$1")", *program, file});
  if (result.code != 0) {
    return InvalidArgument("{}: {}", name, result.err);
  }
  return doc::Parse(result.out, doc::Format::kJson, name);
}

}  // namespace kgpu::e2e
