#include "src/diagnose/collect/redact.h"

#include <array>
#include <string_view>
#include <vector>

#include "src/platform/pattern/pattern.h"

namespace kgpu::collect {
namespace {

struct Rule {
  const char* kind;
  const char* pattern;
  const char* rewrite;
};

// In this order: the first ones are values of the last.
constexpr std::array<Rule, 5> kRules = {{
    {"private key", R"((?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----)",
     "<removed>"},
    {"token", R"(\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)", "<removed>"},
    {"token", R"((?i)\b(bearer|basic) +[A-Za-z0-9._~+/=-]{8,})", R"(\1 <removed>)"},
    {"password", R"((://[^/\s:@"']*:)[^@\s"'/]+@)", R"(\1<removed>@)"},
    {"value of a secret's name",
     R"re((?i)((?:^|[^a-z0-9])[a-z0-9_.-]*(?:token|passw|secret|credential|api[_-]?key|access[_-]?key|private[_-]?key|client-key-data)[a-z0-9_.-]*["']?[ \t]*[:=][ \t]*["']?)[^\s"',}\]<]+)re",
     R"(\1<removed>)"},
}};

std::vector<Pattern> Compiled() {
  std::vector<Pattern> patterns;
  patterns.reserve(kRules.size());
  for (const Rule& rule : kRules) {
    patterns.push_back(Pattern::Compile(rule.pattern).value());
  }
  return patterns;
}

}  // namespace

void RemoveSecrets(std::string& text, std::map<std::string, size_t>& removed) {
  static const std::vector<Pattern> kPatterns = Compiled();
  for (size_t i = 0; i < kRules.size(); ++i) {
    const size_t count = kPatterns[i].Rewrite(text, kRules.at(i).rewrite);
    if (count > 0) {
      removed[kRules.at(i).kind] += count;
    }
  }
}

}  // namespace kgpu::collect
