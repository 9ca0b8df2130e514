// Instructions and their operands.
#include <cstring>

#include "testing/cuda/ptx_numbers.h"
#include "testing/cuda/ptx_parser.h"

namespace kgpu::ptx {
namespace {

bool IsFloat(Type type) {
  return type == Type::kF32;
}
bool IsBits(Type type) {
  return type == Type::kB32 || type == Type::kB64;
}

// Whether an instruction of type `wanted` takes a register of type `found`: the sizes are equal,
// and a float is no integer, but bits are both.
bool Fits(Type wanted, Type found) {
  if (wanted == Type::kPred || found == Type::kPred) {
    return wanted == found;
  }
  return SizeOf(wanted) == SizeOf(found) &&
         (IsBits(wanted) || IsBits(found) || IsFloat(wanted) == IsFloat(found));
}

Type Wide(Type type) {
  return type == Type::kS32 ? Type::kS64 : Type::kU64;
}

struct SpecialName {
  const char* name;
  Special special;
};
constexpr SpecialName kSpecials[] = {
    {"%tid.", Special::kThread},
    {"%ntid.", Special::kBlockSize},
    {"%ctaid.", Special::kBlock},
    {"%nctaid.", Special::kGridSize},
};

}  // namespace

const RegisterRange* Parser::FindRegister(const Token& name, uint32_t* index) const {
  for (uint32_t i = 0; i < range_count_; ++i) {
    const RegisterRange& range = registers_[i];
    const size_t length = range.name.size;
    if (!range.is_numbered && IsSame(range.name, name)) {
      *index = range.first;
      return &range;
    }
    if (range.is_numbered && range.count > 0 && name.size > length &&
        memcmp(name.text, range.name.text, length) == 0) {
      const Token number{.text = name.text + length, .size = name.size - length, .line = 0};
      uint32_t offset = 0;
      if (ParseCount(number, range.count - 1, &offset)) {
        *index = range.first + offset;
        return &range;
      }
    }
  }
  return nullptr;
}

bool Parser::ReadRegister(Type type, Operand* operand) {
  const Token name = token_;
  const RegisterRange* range = FindRegister(name, &operand->index);
  if (range == nullptr) {
    return Fail("unknown register", name);
  }
  if (!Fits(type, range->type)) {
    return Fail("the register has another type", name);
  }
  operand->kind = OperandKind::kRegister;
  Advance();
  return true;
}

bool Parser::ReadSpecial(Type type, Operand* operand) {
  for (const SpecialName& entry : kSpecials) {
    const size_t length = strlen(entry.name);
    if (token_.size != length + 1 || memcmp(token_.text, entry.name, length) != 0) {
      continue;
    }
    const char axis = token_.text[length];
    if (axis < 'x' || axis > 'z' || SizeOf(type) != 4 || IsFloat(type)) {
      break;
    }
    operand->kind = OperandKind::kSpecial;
    operand->special = entry.special;
    operand->axis = static_cast<uint16_t>(axis - 'x');
    Advance();
    return true;
  }
  return Fail("unknown register", token_);
}

bool Parser::ReadSource(Type type, bool may_be_special, Operand* operand) {
  if (!token_.IsEnd() && *token_.text == '%') {
    uint32_t unused = 0;
    return may_be_special && FindRegister(token_, &unused) == nullptr ? ReadSpecial(type, operand)
                                                                      : ReadRegister(type, operand);
  }
  const bool is_negative = Take("-");
  if (!ParseNumber(token_, is_negative, type, &operand->immediate)) {
    return Fail("not a number of the type (write floats as 0f and 8 hex digits)", token_);
  }
  operand->kind = OperandKind::kImmediate;
  Advance();
  return true;
}

bool Parser::ReadAddress(Operand* operand) {
  if (!Expect("[") || !ReadRegister(Type::kU64, operand)) {
    return false;
  }
  if (Take("+")) {
    const bool is_negative = Take("-");
    if (!ParseNumber(token_, is_negative, Type::kS64, &operand->immediate)) {
      return Fail("an address needs a register and a number", token_);
    }
    Advance();
  }
  return Expect("]");
}

bool Parser::ReadParameterName(Type type, Operand* operand) {
  if (!Expect("[")) {
    return false;
  }
  for (uint32_t i = 0; i < function_->parameter_count; ++i) {
    if (!IsSame(parameter_names_[i], token_)) {
      continue;
    }
    if (function_->parameter_sizes[i] != SizeOf(type)) {
      return Fail("the parameter has another size", token_);
    }
    operand->kind = OperandKind::kImmediate;
    operand->index = function_->parameter_offsets[i];
    Advance();
    return Expect("]");
  }
  return Fail("unknown parameter", token_);
}

bool Parser::ReadLabel(Instruction* instruction) {
  const Token name = token_;
  if (name.IsEnd()) {
    return Fail("a branch needs a label", name);
  }
  Advance();
  for (uint32_t i = 0; i < label_count_; ++i) {
    if (IsSame(labels_[i].name, name)) {
      instruction->target = i;
      return true;
    }
  }
  if (label_count_ == kMaxLabels) {
    return Fail("a kernel can have at most 64 labels", name);
  }
  instruction->target = label_count_;
  labels_[label_count_++] = {.name = name, .is_placed = false, .instruction = 0, .line = name.line};
  return true;
}

bool Parser::ReadOperand(char kind, Type type, Operand* operand, Instruction* instruction) {
  switch (kind) {
    case 'd':
      return ReadRegister(type, operand);
    case 'w':
      return ReadRegister(Wide(type), operand);
    case 'p':
      return ReadRegister(Type::kPred, operand);
    case 's':
      return ReadSource(type, false, operand);
    case 'v':
      return ReadSource(type, true, operand);
    case 'c':
      return ReadSource(Type::kU32, false, operand);
    case 'm':
      return ReadAddress(operand);
    case 'n':
      return ReadParameterName(type, operand);
    default:
      return ReadLabel(instruction);
  }
}

bool Parser::ReadInstruction(const Token& name, const Instruction& guard) {
  Type type = Type::kNone;
  const Opcode* opcode = FindOpcode(name, &type);
  if (opcode == nullptr) {
    return Fail("unknown instruction", name);
  }
  if (module_->instruction_count == kMaxInstructions) {
    return Fail("a module can have at most 1024 instructions", name);
  }
  Instruction instruction = guard;
  instruction.op = opcode->op;
  instruction.type = opcode->types[0] == '\0' ? Type::kNone : type;
  instruction.line = name.line;
  for (uint32_t i = 0; opcode->operands[i] != '\0'; ++i) {
    if ((i > 0 && !Expect(",")) ||
        !ReadOperand(opcode->operands[i], type, &instruction.operands[i], &instruction)) {
      return false;
    }
  }
  module_->instructions[module_->instruction_count++] = instruction;
  return Expect(";");
}

bool Parser::ReadGuarded() {
  Instruction guard{};
  guard.has_guard = true;
  guard.is_guard_negated = Take("!");
  Operand operand{};
  if (!ReadRegister(Type::kPred, &operand)) {
    return false;
  }
  guard.guard = operand.index;
  const Token name = token_;
  if (name.IsEnd()) {
    return Fail("the kernel is not closed", name);
  }
  Advance();
  return ReadInstruction(name, guard);
}

}  // namespace kgpu::ptx
