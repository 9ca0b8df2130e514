#include "src/diagnose/collect/redact.h"

#include <string_view>
#include <vector>

#include "src/platform/pattern/pattern.h"

namespace kgpu::collect {
namespace {

struct Rule {
  const char* kind;
  Pattern pattern;
  const char* rewrite;
};

// In this order: the first ones are values of the last. A value is a block of YAML, a text in
// quotes, also within another text, or a word; or it stands beside its name, as in the environment
// of a container.
std::vector<Rule> Rules() {
  const std::string name =
      "[a-z0-9_.-]*(?:token|passw|secret|credential|api[_-]?key|access[_-]?key|private[_-]?key|"
      "client-key-data)[a-z0-9_.-]*";
  const std::string before = "(?i)((?:^|[^a-z0-9])" + name + R"re(\\*["']?[ \t]*[:=][ \t]*)re";
  constexpr const char* kNamed = "value of a secret's name";
  const std::string quote = R"re(\\*["']?)re";
  const std::string is = quote + R"re(\s*:\s*)re";
  const std::string value = R"re((?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\\+"[^"\n]*"|[^\s"',}\]]+))re";
  const auto rule = [](const char* kind, const std::string& pattern, const char* rewrite) {
    return Rule{.kind = kind, .pattern = Pattern::Compile(pattern).value(), .rewrite = rewrite};
  };
  return {
      rule("private key",
           "(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
           "<removed>"),
      rule("token", R"(\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)", "<removed>"),
      rule("token", R"((?i)\b(bearer|basic) +[A-Za-z0-9._~+/=-]{8,})", R"(\1 <removed>)"),
      rule("password", R"((://[^/\s:@"']*:)[^@\s"'/]+@)", R"(\1<removed>@)"),
      rule(kNamed, "(?i)(--" + name + R"re([ \t]+)[^\s-][^\s]*)re", R"(\1<removed>)"),
      rule(kNamed, before + R"re()[|>][-+0-9]*[ \t]*(?:\n[ \t]+[^\n]*)+)re", R"(\1<removed>)"),
      rule(kNamed, before + ")" + value, R"(\1"<removed>")"),
      rule(kNamed,
           "(?i)(\\bname" + is + quote + name + quote + R"re(\s*,?\s*)re" + quote + "value" + is +
               ")" + value,
           R"(\1"<removed>")"),
      rule(kNamed,
           "(?i)(\\bvalue" + is + ")" + value + R"re((\s*,?\s*)re" + quote + "name" + is + quote +
               name + ")",
           R"(\1"<removed>"\2)"),
  };
}

// Files that are nothing but secrets, without names.
constexpr const char* kSecretFiles = R"((?i)(token|secret|passw|credential|\.key$)[^/]*$)";

}  // namespace

void RemoveSecrets(std::string& text, std::map<std::string, size_t>& removed) {
  static const std::vector<Rule> kRules = Rules();
  for (const Rule& rule : kRules) {
    const size_t count = rule.pattern.Rewrite(text, rule.rewrite);
    if (count > 0) {
      removed[rule.kind] += count;
    }
  }
}

bool IsSecretFile(std::string_view path) {
  static const Pattern kPattern = Pattern::Compile(kSecretFiles).value();
  return kPattern.Matches(path);
}

}  // namespace kgpu::collect
