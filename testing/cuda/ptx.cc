#include "testing/cuda/ptx.h"

#include <cstdio>
#include <cstring>

#include "testing/cuda/ptx_numbers.h"
#include "testing/cuda/ptx_parser.h"

namespace kgpu::ptx {

Parser::Parser(const char* text, size_t size, Module* module, char* error, size_t error_size)
    : scanner_(text, size), module_(module), error_(error), error_size_(error_size) {
  memset(static_cast<void*>(module), 0, sizeof(*module));
  Advance();
}

bool Parser::Fail(const char* what, const Token& token) {
  const int size = token.size < 40 ? static_cast<int>(token.size) : 40;
  (void)snprintf(error_, error_size_, "line %u: %s, at '%.*s'", token.line, what, size,
                 token.IsEnd() ? "" : token.text);
  return false;
}

bool Parser::Take(const char* word) {
  if (!token_.Is(word)) {
    return false;
  }
  Advance();
  return true;
}

bool Parser::Expect(const char* word) {
  char what[32];
  (void)snprintf(what, sizeof(what), "'%s' is missing", word);
  return Take(word) || Fail(what, token_);
}

bool Parser::ExpectName(char* out, const char* what) {
  const char first = token_.IsEnd() ? '\0' : *token_.text;
  const bool is_name = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
                       first == '_' || first == '$';
  if (!is_name || token_.size >= kNameSize) {
    return Fail(what, token_);
  }
  memcpy(out, token_.text, token_.size);
  out[token_.size] = '\0';
  Advance();
  return true;
}

bool Parser::ReadVersion() {
  uint32_t major = 0;
  uint32_t minor = 0;
  const Token dot{.text = token_.text + 1, .size = 1, .line = token_.line};
  const bool is_number = token_.size == 3 && dot.Is(".") &&
                         ParseCount({.text = token_.text, .size = 1, .line = 0}, 9, &major) &&
                         ParseCount({.text = token_.text + 2, .size = 1, .line = 0}, 9, &minor);
  if (!is_number) {
    return Fail(".version needs a number such as 6.0", token_);
  }
  module_->version = major * 10 + minor;
  Advance();
  return true;
}

bool Parser::ReadTarget() {
  const bool is_known = token_.size > 3 && memcmp(token_.text, "sm_", 3) == 0;
  const Token number{.text = token_.text + 3, .size = is_known ? token_.size - 3 : 0, .line = 0};
  if (!is_known || !ParseCount(number, 999, &module_->target)) {
    return Fail(".target needs a name such as sm_30", token_);
  }
  Advance();
  return true;
}

bool Parser::ReadParameter() {
  Function& function = *function_;
  if (function.parameter_count == kMaxParameters) {
    return Fail("a kernel can have at most 12 parameters", token_);
  }
  if (!Expect(".param")) {
    return false;
  }
  const uint32_t size =
      token_.size > 1 && *token_.text == '.' ? SizeOf(TypeOf(token_.text + 1, token_.size - 1)) : 0;
  if (size == 0) {
    return Fail("a parameter needs a type such as .u64", token_);
  }
  Advance();
  const uint32_t index = function.parameter_count++;
  parameter_names_[index] = token_;
  function.parameter_offsets[index] = (function.parameter_bytes + size - 1) / size * size;
  function.parameter_sizes[index] = size;
  function.parameter_bytes = function.parameter_offsets[index] + size;
  char name[kNameSize];
  return ExpectName(name, "a parameter needs a name");
}

bool Parser::ReadParameters() {
  if (!Expect("(")) {
    return false;
  }
  if (Take(")")) {
    return true;
  }
  do {
    if (!ReadParameter()) {
      return false;
    }
  } while (Take(","));
  return Expect(")");
}

bool Parser::AddRegisters(Type type) {
  if (token_.size < 2 || *token_.text != '%') {
    return Fail("a register's name must begin with %", token_);
  }
  RegisterRange range{.name = token_,
                      .type = type,
                      .is_numbered = false,
                      .first = function_->register_count,
                      .count = 1};
  Advance();
  if (Take("<")) {
    range.is_numbered = true;
    if (!ParseCount(token_, kMaxRegisters, &range.count)) {
      return Fail("the number of registers must be 256 or less", token_);
    }
    Advance();
    if (!Expect(">")) {
      return false;
    }
  }
  if (range.count > kMaxRegisters - function_->register_count || range_count_ == kMaxRegisters) {
    return Fail("a kernel can have at most 256 registers", range.name);
  }
  function_->register_count += range.count;
  registers_[range_count_++] = range;
  return true;
}

bool Parser::ReadRegisters() {
  const Type type = token_.size > 1 && *token_.text == '.'
                        ? TypeOf(token_.text + 1, token_.size - 1)
                        : Type::kNone;
  if (type == Type::kNone) {
    return Fail("a register needs a type such as .u32", token_);
  }
  Advance();
  do {
    if (!AddRegisters(type)) {
      return false;
    }
  } while (Take(","));
  return Expect(";");
}

bool Parser::PlaceLabel(const Token& name) {
  for (uint32_t i = 0; i < label_count_; ++i) {
    if (IsSame(labels_[i].name, name)) {
      if (labels_[i].is_placed) {
        return Fail("duplicate label", name);
      }
      labels_[i].is_placed = true;
      labels_[i].instruction = module_->instruction_count;
      return true;
    }
  }
  if (label_count_ == kMaxLabels) {
    return Fail("a kernel can have at most 64 labels", name);
  }
  labels_[label_count_++] = {.name = name,
                             .is_placed = true,
                             .instruction = module_->instruction_count,
                             .line = name.line};
  return true;
}

bool Parser::ResolveLabels() {
  for (uint32_t i = 0; i < label_count_; ++i) {
    if (!labels_[i].is_placed) {
      return Fail("unknown label", labels_[i].name);
    }
  }
  for (uint32_t i = function_->first; i < function_->end; ++i) {
    Instruction& instruction = module_->instructions[i];
    if (instruction.op == Op::kBranch) {
      instruction.target = labels_[instruction.target].instruction;
    }
  }
  return true;
}

bool Parser::ReadStatement() {
  if (Take(".reg")) {
    return ReadRegisters();
  }
  if (Take("@")) {
    return ReadGuarded();
  }
  const Token name = token_;
  if (name.IsEnd()) {
    return Fail("the kernel is not closed", name);
  }
  Advance();
  if (Take(":")) {
    return PlaceLabel(name);
  }
  return ReadInstruction(name, Instruction{});
}

bool Parser::ReadBody() {
  if (!Expect("{")) {
    return false;
  }
  function_->first = module_->instruction_count;
  while (!token_.Is("}")) {
    if (!ReadStatement()) {
      return false;
    }
  }
  Advance();
  function_->end = module_->instruction_count;
  return ResolveLabels();
}

bool Parser::ReadKernel() {
  if (module_->function_count == kMaxFunctions) {
    return Fail("a module can have at most 8 kernels", token_);
  }
  function_ = &module_->functions[module_->function_count];
  range_count_ = 0;
  label_count_ = 0;
  if (!ExpectName(function_->name, "a kernel needs a name") || !ReadParameters() || !ReadBody()) {
    return false;
  }
  ++module_->function_count;
  return true;
}

bool Parser::ReadDirective() {
  if (Take(".version")) {
    return ReadVersion();
  }
  if (Take(".target")) {
    return ReadTarget();
  }
  if (Take(".address_size")) {
    return Expect("64");
  }
  if (Take(".visible")) {
    return Expect(".entry") && ReadKernel();
  }
  return Take(".entry") ? ReadKernel() : Fail("unknown directive", token_);
}

bool Parser::Run() {
  error_[0] = '\0';
  while (!token_.IsEnd()) {
    if (!ReadDirective()) {
      return false;
    }
  }
  if (module_->version == 0 || module_->target == 0) {
    return Fail(".version or .target is missing", token_);
  }
  return true;
}

bool Parse(const char* text, size_t size, Module* module, char* error, size_t error_size) {
  if (size > kMaxText) {
    (void)snprintf(error, error_size, "the text is larger than 64 KiB");
    return false;
  }
  return Parser(text, size, module, error, error_size).Run();
}

const Function* FindFunction(const Module& module, const char* name) {
  for (uint32_t i = 0; i < module.function_count; ++i) {
    if (strcmp(module.functions[i].name, name) == 0) {
      return &module.functions[i];
    }
  }
  return nullptr;
}

}  // namespace kgpu::ptx
