// Reads texts of others and files of the provider: the first byte of the input chooses the reader.
// Whatever the text, containers and loans that come out can be parts of paths, and files read back
// as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/functions/provider/deployment.h"
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/logs.h"
#include "src/functions/provider/podman.h"
#include "src/functions/replicas/ready_probe.h"
#include "src/functions/service/usage_hours.h"

namespace {

using namespace kgpu::functions;  // NOLINT(google-build-using-namespace): of the one module tested

void ReadContainers(std::string_view text) {
  const auto containers = ParseContainers(text);
  if (!containers.ok()) {
    return;
  }
  for (const FoundContainer& container : *containers) {
    if (container.replica.empty() || container.replica.find('/') != std::string::npos ||
        container.replica == "..") {
      std::abort();
    }
  }
}

void ReadLoans(std::string_view text) {
  const auto loans = ParseLoans(text);
  for (const Loan& loan : loans.ok() ? *loans : std::vector<Loan>()) {
    for (const LoanMount& mount : loan.mounts) {
      const bool is_one_word = (mount.source + mount.target).find(',') == std::string::npos;
      if (!is_one_word || mount.source.front() != '/' || mount.target.front() != '/') {
        std::abort();
      }
    }
  }
}

void ReadUsage(std::string_view text) {
  const auto usage = UsageHours::Parse(text);
  if (!usage.ok()) {
    return;
  }
  const auto again = UsageHours::Parse(usage->Text());
  if (!again.ok() || again->Since({}) != usage->Since({})) {
    std::abort();
  }
}

void ReadDeployment(std::string_view text) {
  const auto deployment = ParseDeployment(text, "fuzz");
  if (!deployment.ok()) {
    return;
  }
  const auto again = ParseDeployment(PrintDeployment(*deployment), "fuzz");
  if (!again.ok() || again->hash != deployment->hash) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'c':
      ReadContainers(text);
      break;
    case 'd':
      ReadDeployment(text);
      break;
    case 'l':
      ReadLoans(text);
      break;
    case 'p':
      (void)ParseLogLines(text);
      break;
    case 's':
      (void)ParseWatchdogStatus(text);
      break;
    case 'u':
      ReadUsage(text);
      break;
    default:
      break;
  }
  return 0;
}
