#include "src/host/packages/dkms_log.h"

#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::packages {
namespace {

constexpr size_t kLogLimit = size_t{64} << 20;
constexpr size_t kErrors = 2;
constexpr size_t kErrorsLimit = 800;

}  // namespace

std::string DkmsLogIn(std::string_view printed) {
  constexpr std::string_view kFolder = "/var/lib/dkms/";
  constexpr std::string_view kName = "/make.log";
  const size_t end = printed.rfind(kName);
  const size_t begin = end == std::string_view::npos ? end : printed.rfind(kFolder, end);
  if (begin == std::string_view::npos) {
    return {};
  }
  const std::string_view path = printed.substr(begin, end + kName.size() - begin);
  return path.find_first_of(" \t\n\"'") == std::string_view::npos ? std::string(path)
                                                                  : std::string();
}

std::string CompilerErrors(const sys::Root& host, std::string_view log) {
  const std::string text = log.empty() ? "" : host.ReadFile(log, kLogLimit).value_or("");
  std::vector<std::string> errors;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.find("error:") != std::string_view::npos && errors.size() < kErrors) {
      errors.emplace_back(Trim(line));
    }
  }
  return Printable(Join(errors, "; "), kErrorsLimit);
}

}  // namespace kgpu::packages
