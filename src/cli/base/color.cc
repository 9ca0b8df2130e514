#include "src/cli/base/color.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "src/cli/base/environment.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

constexpr std::string_view kNoColor = "NO_COLOR=";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kCyan = "\x1b[36m";
constexpr std::string_view kPlain = "\x1b[0m";

std::atomic<ColorChoice>& Choice() {
  static std::atomic<ColorChoice> choice = ColorChoice::kAuto;
  return choice;
}

// Tells lines of a diff from others: one begins with "--- FILE" and lasts while lines look so.
class DiffReader {
 public:
  // The color of the next line; empty: none.
  std::string_view ColorOf(std::string_view line) {
    if (line.starts_with("--- ") || (is_inside_ && line.starts_with("+++ "))) {
      is_inside_ = true;
      return kBold;
    }
    if (!is_inside_ || line.empty()) {
      return "";
    }
    switch (line.front()) {
      case '@':
        return kCyan;
      case '+':
        return kGreen;
      case '-':
        return kRed;
      default:
        is_inside_ = line.front() == ' ' || line.front() == '\\';
        return "";
    }
  }

 private:
  bool is_inside_ = false;
};

}  // namespace

StatusOr<ColorChoice> ParseColorChoice(std::string_view text) {
  if (text == "auto") {
    return ColorChoice::kAuto;
  }
  if (text == "always") {
    return ColorChoice::kAlways;
  }
  if (text == "never") {
    return ColorChoice::kNever;
  }
  return InvalidArgument("--color: \"{}\" must be auto, always or never", Printable(text, 40));
}

bool IsColored(ColorChoice choice, bool is_terminal, const std::vector<std::string>& environment) {
  if (choice != ColorChoice::kAuto) {
    return choice == ColorChoice::kAlways;
  }
  return is_terminal && std::ranges::none_of(environment, [](std::string_view entry) {
           return entry == "TERM=dumb" ||
                  (entry.starts_with(kNoColor) && entry.size() > kNoColor.size());
         });
}

void SetColorChoice(ColorChoice choice) {
  Choice() = choice;
}

bool TakesColor(int fd) {
  return IsColored(Choice(), isatty(fd) != 0, Environment());
}

std::string WithDiffColors(std::string_view text) {
  std::string colored;
  DiffReader reader;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view color = reader.ColorOf(line);
    if (color.empty()) {
      colored += line;
    } else {
      fmt::format_to(std::back_inserter(colored), "{}{}{}", color, line, kPlain);
    }
    if (end < text.size()) {
      colored += '\n';
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return colored;
}

std::string DiffForOutput(std::string text) {
  return TakesColor(STDOUT_FILENO) ? WithDiffColors(text) : text;
}

}  // namespace kgpu::cli
