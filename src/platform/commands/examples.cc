#include "src/platform/commands/examples.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::commands {
namespace {

constexpr std::string_view kIndent = "  ";

template <typename Visit>
void EachLine(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Reads a line of shell as far as examples use it: words, quotes, and what ends a command.
class ShellLine {
 public:
  explicit ShellLine(std::string_view line) : left_(line) {}

  // The commands of the line, each as its words.
  std::vector<std::vector<std::string>> Commands() {
    for (; !left_.empty(); left_.remove_prefix(1)) {
      Take(left_.front());
    }
    EndCommand();
    return std::move(commands_);
  }

 private:
  void Take(char c) {
    if (quote_ != 0) {
      if (c == quote_) {
        quote_ = 0;
      } else {
        word_ += c;
      }
    } else if (c == '\'' || c == '"') {
      quote_ = c;
      is_word_ = true;
    } else if (c == '|' || c == ';' || c == '(' || c == ')') {
      EndCommand();
    } else if (c == '>' || c == '<') {
      EndWord();
      is_file_ = true;
    } else if (c == ' ') {
      EndWord();
    } else {
      word_ += c;
      is_word_ = true;
    }
  }

  // The word after > or < names a file and is not part of the command.
  void EndWord() {
    if (is_word_ && !is_file_) {
      words_.push_back(word_);
    }
    is_file_ = is_file_ && !is_word_;
    word_.clear();
    is_word_ = false;
  }

  void EndCommand() {
    EndWord();
    if (!words_.empty()) {
      commands_.push_back(std::move(words_));
    }
    words_.clear();
    is_file_ = false;
  }

  std::string_view left_;
  std::string word_;
  std::vector<std::string> words_;
  std::vector<std::vector<std::string>> commands_;
  char quote_ = 0;
  bool is_word_ = false;
  bool is_file_ = false;
};

}  // namespace

std::vector<Example> ExamplesOf(std::string_view footer) {
  std::vector<Example> examples;
  EachLine(footer, [&](std::string_view line) {
    if (!line.starts_with(kIndent)) {
      return;
    }
    line = Trim(line);
    const size_t end = line.find(kIndent);
    Example example{.line = std::string(line.substr(0, end)), .explanation = ""};
    if (end != std::string_view::npos) {
      example.explanation = Trim(line.substr(end));
    }
    examples.push_back(std::move(example));
  });
  return examples;
}

std::string ProseOf(std::string_view footer) {
  std::string prose;
  EachLine(footer, [&](std::string_view line) {
    if (!line.starts_with(kIndent)) {
      prose += line;
      prose += '\n';
    }
  });
  return std::string(Trim(prose));
}

std::vector<std::vector<std::string>> CallsIn(std::string_view line, std::string_view program) {
  std::vector<std::vector<std::string>> calls;
  for (std::vector<std::string>& words : ShellLine(line).Commands()) {
    if (words.front() == program) {
      words.erase(words.begin());
      calls.push_back(std::move(words));
    }
  }
  return calls;
}

}  // namespace kgpu::commands
