#include "src/platform/gotemplate/action.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/gotemplate/functions.h"

namespace kgpu::gotemplate {
namespace {

bool IsConstant(std::string_view word) {
  return word == "true" || word == "false" || word == "nil";
}

const std::string* LiteralText(const Expression& expression) {
  return expression.kind == Expression::Kind::kLiteral ? expression.literal.if_text() : nullptr;
}

std::string CountText(const Function& function) {
  if (function.most == kAnyNumber) {
    return fmt::format("{} or more", function.least);
  }
  return function.least == function.most ? fmt::format("{}", function.least)
                                         : fmt::format("{} to {}", function.least, function.most);
}

}  // namespace

size_t Scope::Declare(std::string name) {
  variables.push_back({std::move(name), slots});
  return slots++;
}

bool ActionParser::IsMarkAt(size_t token, std::string_view mark) const {
  return token < piece_.tokens.size() && piece_.tokens[token].kind == Token::Kind::kMark &&
         piece_.tokens[token].text == mark;
}

Status ActionParser::ExpectEnd() const {
  return AtEnd() ? OkStatus()
                 : Error(At(), fmt::format("\"{}\" is unexpected here", Printable(Peek().text)));
}

Status ActionParser::CountPart() {
  return ++scope_.parts <= scope_.language.limits.parts
             ? OkStatus()
             : Error(At(), fmt::format("the template has more than {} parts",
                                       scope_.language.limits.parts));
}

Status ActionParser::Descend() {
  return ++scope_.depth <= scope_.language.limits.depth
             ? OkStatus()
             : Error(At(), fmt::format("more than {} nested blocks or brackets",
                                       scope_.language.limits.depth));
}

StatusOr<size_t> ActionParser::SlotOf(const Token& variable) const {
  for (size_t i = scope_.variables.size(); i-- > 0;) {
    if (scope_.variables[i].name == variable.text) {
      return scope_.variables[i].slot;
    }
  }
  return Error(variable.offset, fmt::format("unknown variable ${}: declare it with ${} := …",
                                            variable.text, variable.text));
}

// "a | b x" is "b x (a)".
Status ActionParser::ParsePipeline(Expression& result) {
  RETURN_IF_ERROR(Descend());
  std::optional<Expression> before;
  RETURN_IF_ERROR(ParseCommand(result, before));
  while (IsMark("|")) {
    Take();
    before = std::exchange(result, {});
    RETURN_IF_ERROR(ParseCommand(result, before));
  }
  --scope_.depth;
  return OkStatus();
}

Status ActionParser::ParseCommand(Expression& result, std::optional<Expression>& piped) {
  const size_t offset = At();
  if (!IsWord() || IsConstant(Peek().text)) {
    RETURN_IF_ERROR(ParseOperand(result));
    if (!TakeMethod(result)) {
      return piped ? Error(offset, "a function must follow |") : ExpectEndOfCommand();
    }
  } else {
    result.kind = Expression::Kind::kCall;
    result.place = PlaceOf(offset);
    result.function = scope_.language.Find(Peek().text);
    if (result.function == nullptr) {
      return UnknownFunction(Peek());
    }
    RETURN_IF_ERROR(CountPart());
    Take();
  }
  while (!AtEnd() && !IsMark("|") && !IsMark(")")) {
    result.arguments.emplace_back();
    RETURN_IF_ERROR(ParseOperand(result.arguments.back()));
  }
  if (piped) {
    result.arguments.push_back(*std::move(piped));
  }
  return CheckCall(result, offset);
}

Status ActionParser::ExpectEndOfCommand() const {
  return AtEnd() || IsMark("|") || IsMark(")") ? OkStatus()
                                               : Error(At(), "only a function takes arguments");
}

// ".Files.Get" calls the method .Get, if the language has it, with .Files.
bool ActionParser::TakeMethod(Expression& result) const {
  const Function* method =
      result.fields.empty() ? nullptr : scope_.language.Find("." + result.fields.back());
  if (method == nullptr) {
    return false;
  }
  Expression object = std::exchange(result, {});
  object.fields.pop_back();
  result.kind = Expression::Kind::kCall;
  result.place = object.place;
  result.function = method;
  result.arguments.push_back(std::move(object));
  return true;
}

Status ActionParser::UnknownFunction(const Token& token) const {
  std::vector<std::string_view> names;
  std::ranges::transform(scope_.language.functions, std::back_inserter(names), &Function::name);
  const auto nearest = Nearest(token.text, names);
  return Error(token.offset, fmt::format("unknown function \"{}\"{}", token.text,
                                         nearest ? fmt::format(": did you mean \"{}\"?", *nearest)
                                                 : fmt::format(": see {} for a list",
                                                               scope_.language.reference)));
}

Status ActionParser::CheckCall(Expression& call, size_t offset) const {
  const Function& function = *call.function;
  const size_t count = call.arguments.size();
  if (count < function.least || count > function.most) {
    return Error(offset, fmt::format("{} needs {} argument{}, not {}", function.name,
                                     CountText(function), function.most == 1 ? "" : "s", count));
  }
  if (function.takes_pattern) {
    return CompilePattern(call, offset);
  }
  if (function.name != "printf") {
    return OkStatus();
  }
  const std::string* format = LiteralText(call.arguments.front());
  const Status status = format == nullptr ? OkStatus() : CheckFormat(*format, count - 1);
  return status.ok() ? status : Error(offset, fmt::format("printf: {}", Message(status)));
}

Status ActionParser::CompilePattern(Expression& call, size_t offset) const {
  const std::string* text = LiteralText(call.arguments.front());
  if (text == nullptr) {
    return Error(
        offset,
        fmt::format(
            "{}: the regular expression must be a constant here, so that it is compiled once",
            call.function->name));
  }
  auto pattern = Pattern::Compile(*text);
  ++scope_.patterns;
  if (!pattern.ok()) {
    return Error(offset, Message(pattern.status()));
  }
  call.pattern = *std::move(pattern);
  call.arguments.erase(call.arguments.begin());
  return OkStatus();
}

Status ActionParser::ParseOperand(Expression& result) {
  if (AtEnd()) {
    return Error(At(), "missing value");
  }
  RETURN_IF_ERROR(CountPart());
  const size_t offset = At();
  result.place = PlaceOf(offset);
  bool is_whole_data = false;
  RETURN_IF_ERROR(ParsePrimary(result, is_whole_data));
  while (!AtEnd() && Peek().kind == Token::Kind::kField && Peek().is_glued) {
    result.fields.push_back(Take().text);
  }
  if (!AtEnd() && Peek().is_glued && !IsMark(")") && !IsMark("|") && !IsMark(",")) {
    return Error(At(), "missing space");
  }
  if (!result.fields.empty() && result.kind == Expression::Kind::kLiteral) {
    return Error(offset, "a constant has no fields");
  }
  if (is_whole_data && !result.fields.empty()) {
    scope_.paths.push_back({result.place, result.fields});
  }
  return OkStatus();
}

Status ActionParser::ParsePrimary(Expression& result, bool& is_whole_data) {
  switch (Peek().kind) {
    case Token::Kind::kDot:
    case Token::Kind::kField: {
      const Token token = Take();
      result.kind = Expression::Kind::kDot;
      is_whole_data = scope_.dot_is_root;
      if (token.kind == Token::Kind::kField) {
        result.fields.push_back(token.text);
      }
      return OkStatus();
    }
    case Token::Kind::kVariable: {
      result.kind = Expression::Kind::kVariable;
      ASSIGN_OR_RETURN(result.slot, SlotOf(Peek()));
      is_whole_data = result.slot == 0;
      Take();
      return OkStatus();
    }
    case Token::Kind::kText:
      result.literal = Value(Take().text);
      return OkStatus();
    case Token::Kind::kNumber:
      result.literal = Value(Take().number);
      return OkStatus();
    case Token::Kind::kWord:
      return ParseConstant(result);
    case Token::Kind::kMark:
      break;
  }
  return ParseBrackets(result);
}

Status ActionParser::ParseBrackets(Expression& result) {
  const size_t offset = At();
  if (!IsMark("(")) {
    return Error(offset, fmt::format("\"{}\" is unexpected here", Peek().text));
  }
  Take();
  RETURN_IF_ERROR(ParsePipeline(result));
  if (!IsMark(")")) {
    return Error(offset, "unclosed bracket: add )");
  }
  Take();
  return OkStatus();
}

Status ActionParser::ParseConstant(Expression& result) {
  const Token& word = Peek();
  if (!IsConstant(word.text)) {
    return scope_.language.Find(word.text) == nullptr
               ? UnknownFunction(word)
               : Error(word.offset,
                       fmt::format("a call as an argument needs brackets: ({} …)", word.text));
  }
  if (word.text != "nil") {
    result.literal = Value(word.text == "true");
  }
  Take();
  return OkStatus();
}

}  // namespace kgpu::gotemplate
