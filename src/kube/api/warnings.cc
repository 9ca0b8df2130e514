#include "src/kube/api/warnings.h"

#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::kube {
namespace {

constexpr size_t kMaxSeen = 128;
constexpr size_t kMaxWarning = 512;

// The text between the first quote of `text` and its closing quote.
std::string Quoted(std::string_view text) {
  std::string plain;
  for (size_t at = text.find('"') + 1; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
    }
    plain += text[at];
  }
  return plain;
}

}  // namespace

std::vector<std::string> WarningsOf(const http::Headers& headers) {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : headers.fields()) {
    if (http::EqualsIgnoringCase(name, "Warning") && value.starts_with("299 ") &&
        value.find('"') != std::string::npos) {
      warnings.push_back(Quoted(value));
    }
  }
  return warnings;
}

void WarningLog::Note(const http::Headers& headers, std::string_view what) {
  for (const std::string& warning : WarningsOf(headers)) {
    const std::string text = Printable(warning, kMaxWarning);
    if (seen_.size() < kMaxSeen && seen_.insert(text).second) {
      KGPU_LOG(kWarning, "API server warned", {"warning", text}, {"request", what});
    }
  }
}

}  // namespace kgpu::kube
