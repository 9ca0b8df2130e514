// Functions of texts. Order of arguments and meaning as in Go and in sprig; texts are bytes.
#include <algorithm>
#include <array>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/gotemplate/functions.h"

namespace kgpu::gotemplate {
namespace {

using Result = StatusOr<Value>;

constexpr std::string_view kTextBlanks = " \t\r\n\v\f";

char Upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

std::string_view TrimLeft(std::string_view text, std::string_view set) {
  text.remove_prefix(std::min(text.find_first_not_of(set), text.size()));
  return text;
}
std::string_view TrimRight(std::string_view text, std::string_view set) {
  return text.substr(0, text.find_last_not_of(set) + 1);
}

// The text that a function works on stands last.
Result Lower(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0]));
  return Value(ToLower(text));
}

Result ToUpper(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0]));
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), Upper);
  return Value(std::move(upper));
}

Result TrimBlanks(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0]));
  return Value(TrimLeft(TrimRight(text, kTextBlanks), kTextBlanks));
}

Result TrimSet(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view set, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  return Value(TrimLeft(TrimRight(text, set), set));
}

Result TrimPrefix(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view prefix, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  return Value(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}

Result TrimSuffix(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view suffix, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  return Value(text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

Result Contains(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view piece, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  return Value(text.find(piece) != std::string_view::npos);
}

Result HasPrefix(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view prefix, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  return Value(text.starts_with(prefix));
}

Result HasSuffix(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view suffix, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  return Value(text.ends_with(suffix));
}

Result Replace(Arguments args, const Context& context) {
  ASSIGN_OR_RETURN(const std::string_view from, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view to, TextOf(args[1]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[2]));
  if (from.empty()) {
    return InvalidArgument("replace needs a string to look for");
  }
  std::string result;
  size_t begin = 0;
  while (result.size() <= context.most_bytes) {
    const size_t found = text.find(from, begin);
    result += text.substr(begin, found - begin);
    if (found == std::string_view::npos) {
      break;
    }
    result += to;
    begin = found + from.size();
  }
  return Value(std::move(result));
}

Result Substr(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const int64_t begin, NumberOf(args[0]));
  ASSIGN_OR_RETURN(const int64_t end, NumberOf(args[1]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[2]));
  const auto size = static_cast<int64_t>(text.size());
  const int64_t first = std::clamp<int64_t>(begin, 0, size);
  const int64_t last = end < 0 ? size : std::clamp<int64_t>(end, first, size);
  return Value(text.substr(static_cast<size_t>(first), static_cast<size_t>(last - first)));
}

// The first so many bytes; a negative number counts from the end.
Result Trunc(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const int64_t count, NumberOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  const auto size = static_cast<int64_t>(text.size());
  if (count >= 0) {
    return Value(text.substr(0, static_cast<size_t>(std::min(count, size))));
  }
  return Value(text.substr(count <= -size ? 0 : static_cast<size_t>(size + count)));
}

Result NoSpace(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0]));
  std::string result(text);
  std::erase_if(result, [](char c) { return kTextBlanks.find(c) != std::string_view::npos; });
  return Value(std::move(result));
}

Result Quote(Arguments args, const Context&) {
  if (args[0].is_nothing()) {
    return Value("");
  }
  ASSIGN_OR_RETURN(const std::string text, args[0].Text());
  return Value(QuotedText(text));
}

Result ToString(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(std::string text, args[0].Text());
  return Value(std::move(text));
}

Result PrintText(Arguments args, const Context&) {
  std::string text;
  for (const Value& value : args) {
    ASSIGN_OR_RETURN(const std::string piece, value.Text());
    text += piece;
  }
  return Value(std::move(text));
}

Result Printf(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view format, TextOf(args[0]));
  ASSIGN_OR_RETURN(std::string text, FormatText(format, args.subspan(1)));
  return Value(std::move(text));
}

Result JoinTexts(Arguments args, const Context& context) {
  ASSIGN_OR_RETURN(const std::string_view separator, TextOf(args[0]));
  ASSIGN_OR_RETURN(const Value::List* list, ListOf(args[1]));
  std::string text;
  for (size_t i = 0; i < list->size() && text.size() <= context.most_bytes; ++i) {
    ASSIGN_OR_RETURN(const std::string piece, (*list)[i].Text());
    text += i == 0 ? std::string_view() : separator;
    text += piece;
  }
  return Value(std::move(text));
}

Result SplitText(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::string_view separator, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[1]));
  if (separator.empty()) {
    return InvalidArgument("splitList needs a separator");
  }
  Value::List pieces;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  pieces.emplace_back(text.substr(begin));
  return Value(std::move(pieces));
}

// sprig's map of pieces: _0, _1, …
Result SplitToMap(Arguments args, const Context& context) {
  ASSIGN_OR_RETURN(const Value pieces, SplitText(args, context));
  Value::Dict map;
  const Value::List* list = pieces.if_list();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    map.emplace(fmt::format("_{}", i), (*list)[i]);
  }
  return Value(std::move(map));
}

Result RegexMatch(Arguments args, const Context& context) {
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0]));
  return Value(context.pattern->Matches(text));
}

Result RegexFind(Arguments args, const Context& context) {
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0]));
  return Value(context.pattern->Find(text));
}

// Text, then replacement.
Result RegexReplaceLiteral(Arguments args, const Context& context) {
  ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view replacement, TextOf(args[1]));
  if (replacement.size() > 256) {
    return InvalidArgument("the replacement has {} bytes, limit 256", replacement.size());
  }
  return Value(context.pattern->Replace(text, replacement));
}

Result RegexReplace(Arguments args, const Context& context) {
  ASSIGN_OR_RETURN(const std::string_view replacement, TextOf(args[1]));
  if (replacement.find('$') != std::string_view::npos) {
    return InvalidArgument("groups in a replacement are not supported: remove the $");
  }
  return RegexReplaceLiteral(args, context);
}

constexpr std::array kTextFunctions = {
    Function{.name = "contains", .least = 2, .most = 2, .body = Contains},
    Function{.name = "hasPrefix", .least = 2, .most = 2, .body = HasPrefix},
    Function{.name = "hasSuffix", .least = 2, .most = 2, .body = HasSuffix},
    Function{.name = "join", .least = 2, .most = 2, .body = JoinTexts},
    Function{.name = "lower", .least = 1, .most = 1, .body = Lower},
    Function{.name = "nospace", .least = 1, .most = 1, .body = NoSpace},
    Function{.name = "print", .least = 1, .most = kAnyNumber, .body = PrintText},
    Function{.name = "printf", .least = 1, .most = kAnyNumber, .body = Printf},
    Function{.name = "quote", .least = 1, .most = 1, .body = Quote},
    Function{.name = "regexFind", .least = 2, .most = 2, .body = RegexFind, .takes_pattern = true},
    Function{
        .name = "regexMatch", .least = 2, .most = 2, .body = RegexMatch, .takes_pattern = true},
    Function{.name = "regexReplaceAll",
             .least = 3,
             .most = 3,
             .body = RegexReplace,
             .takes_pattern = true},
    Function{.name = "regexReplaceAllLiteral",
             .least = 3,
             .most = 3,
             .body = RegexReplaceLiteral,
             .takes_pattern = true},
    Function{.name = "replace", .least = 3, .most = 3, .body = Replace},
    Function{.name = "split", .least = 2, .most = 2, .body = SplitToMap},
    Function{.name = "splitList", .least = 2, .most = 2, .body = SplitText},
    Function{.name = "substr", .least = 3, .most = 3, .body = Substr},
    Function{.name = "toString", .least = 1, .most = 1, .body = ToString},
    Function{.name = "trim", .least = 1, .most = 1, .body = TrimBlanks},
    Function{.name = "trimAll", .least = 2, .most = 2, .body = TrimSet},
    Function{.name = "trimPrefix", .least = 2, .most = 2, .body = TrimPrefix},
    Function{.name = "trimSuffix", .least = 2, .most = 2, .body = TrimSuffix},
    Function{.name = "trunc", .least = 2, .most = 2, .body = Trunc},
    Function{.name = "upper", .least = 1, .most = 1, .body = ToUpper},
};

}  // namespace

std::span<const Function> TextFunctions() {
  return kTextFunctions;
}

}  // namespace kgpu::gotemplate
