// printf of templates: %s %v %q %d %x %X %t %% with -, 0, + and blank, a width and a precision.
#include <algorithm>
#include <optional>
#include <string>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/gotemplate/functions.h"

namespace kgpu::gotemplate {
namespace {

constexpr size_t kMaxWidth = 256;
constexpr std::string_view kVerbs = "svqdxXt";

struct Verb {
  char letter = 0;
  bool is_left = false;
  bool is_zero_filled = false;
  char sign = 0;  // '+' or ' '
  size_t width = 0;
  std::optional<size_t> precision;
};

size_t TakeNumber(std::string_view format, size_t& at) {
  size_t number = 0;
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) {
    number = std::min(number * 10 + static_cast<size_t>(format[at] - '0'), 10 * kMaxWidth);
  }
  return number;
}

// `at` is the position after the "%".
StatusOr<Verb> TakeVerb(std::string_view format, size_t& at) {
  Verb verb;
  for (; at < format.size() && std::string_view("-+ 0").find(format[at]) != std::string_view::npos;
       ++at) {
    verb.is_left |= format[at] == '-';
    verb.is_zero_filled |= format[at] == '0';
    if (format[at] == '+' || format[at] == ' ') {
      verb.sign = format[at];
    }
  }
  verb.width = TakeNumber(format, at);
  if (at < format.size() && format[at] == '.') {
    verb.precision = TakeNumber(format, ++at);
  }
  if (verb.width > kMaxWidth || verb.precision.value_or(0) > kMaxWidth) {
    return InvalidArgument("width greater than {}", kMaxWidth);
  }
  if (at == format.size() ||
      (kVerbs.find(format[at]) == std::string_view::npos && format[at] != '%')) {
    return InvalidArgument("\"%{}\" is not supported: use %s %v %q %d %x %X %t or %%",
                           Printable(format.substr(at, 1)));
  }
  verb.letter = format[at++];
  return verb;
}

void Pad(std::string& text, const Verb& verb) {
  if (text.size() >= verb.width) {
    return;
  }
  const size_t missing = verb.width - text.size();
  if (verb.is_left) {
    text.append(missing, ' ');
  } else {
    const bool has_sign =
        verb.is_zero_filled && !text.empty() && (text[0] == '-' || text[0] == '+');
    text.insert(has_sign ? 1 : 0, missing, verb.is_zero_filled ? '0' : ' ');
  }
}

StatusOr<std::string> NumberText(int64_t number, const Verb& verb) {
  if (verb.precision) {
    return InvalidArgument("precision of a number is not supported: use %0{}d", *verb.precision);
  }
  std::string text = verb.letter == 'x'   ? fmt::format("{:x}", number)
                     : verb.letter == 'X' ? fmt::format("{:X}", number)
                                          : fmt::format("{}", number);
  if (number >= 0 && verb.sign != 0) {
    text.insert(0, 1, verb.sign);
  }
  return text;
}

std::string HexText(std::string_view bytes, bool is_upper) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += is_upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  return text;
}

StatusOr<std::string> Formatted(const Verb& verb, const Value& value) {
  const bool is_hex = verb.letter == 'x' || verb.letter == 'X';
  if (const int64_t* number = value.if_number();
      number != nullptr && (verb.letter == 'd' || verb.letter == 'v' || is_hex)) {
    return NumberText(*number, verb);
  }
  if (value.if_truth() != nullptr && (verb.letter == 't' || verb.letter == 'v')) {
    return value.Text();
  }
  if (value.if_text() == nullptr || verb.letter == 'd' || verb.letter == 't') {
    return InvalidArgument("%{} of {}{}", verb.letter, value.KindName(),
                           verb.letter == 'd' && value.if_text() != nullptr ? ": use atoi" : "");
  }
  std::string_view text = *value.if_text();
  if (verb.precision) {
    text = text.substr(0, *verb.precision);
  }
  if (is_hex) {
    return HexText(text, verb.letter == 'X');
  }
  return verb.letter == 'q' ? QuotedText(text) : std::string(text);
}

// Calls `put` with each piece of text and each verb.
template <typename PutText, typename PutVerb>
Status Walk(std::string_view format, const PutText& put_text, const PutVerb& put_verb) {
  size_t at = 0;
  while (at < format.size()) {
    const size_t percent = std::min(format.find('%', at), format.size());
    put_text(format.substr(at, percent - at));
    if (percent == format.size()) {
      break;
    }
    at = percent + 1;
    ASSIGN_OR_RETURN(const Verb verb, TakeVerb(format, at));
    if (verb.letter == '%') {
      put_text("%");
    } else {
      RETURN_IF_ERROR(put_verb(verb));
    }
  }
  return OkStatus();
}

Status CountError(size_t verbs, size_t values) {
  return InvalidArgument("verbs in the format: {}, values: {}: make them equal", verbs, values);
}

}  // namespace

std::string QuotedText(std::string_view text) {
  constexpr std::string_view kEscaped = "\n\t\r\\\"";
  constexpr std::string_view kNames = "ntr\\\"";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const size_t escape = kEscaped.find(c);
    if (escape != std::string_view::npos) {
      quoted += {'\\', kNames[escape]};
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

Status CheckFormat(std::string_view format, size_t values) {
  size_t verbs = 0;
  RETURN_IF_ERROR(Walk(
      format, [](std::string_view) {},
      [&](const Verb&) {
        ++verbs;
        return OkStatus();
      }));
  return verbs == values ? OkStatus() : CountError(verbs, values);
}

StatusOr<std::string> FormatText(std::string_view format, Arguments values) {
  RETURN_IF_ERROR(CheckFormat(format, values.size()));
  std::string result;
  size_t next = 0;
  RETURN_IF_ERROR(Walk(
      format, [&](std::string_view text) { result += text; },
      [&](const Verb& verb) -> Status {
        ASSIGN_OR_RETURN(std::string text, Formatted(verb, values[next++]));
        Pad(text, verb);
        result += text;
        return OkStatus();
      }));
  return result;
}

}  // namespace kgpu::gotemplate
