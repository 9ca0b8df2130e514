#include "testing/cuda/ptx_run.h"

#include <cmath>
#include <cstring>

namespace kgpu::ptx {
namespace {

float FloatOf(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float value = 0;
  memcpy(&value, &low, sizeof(value));
  return value;
}

uint64_t BitsOf(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

int64_t SignedOf(Type type, uint64_t bits) {
  return SizeOf(type) == 4 ? static_cast<int32_t>(static_cast<uint32_t>(bits))
                           : static_cast<int64_t>(bits);
}

bool IsSigned(Type type) {
  return type == Type::kS32 || type == Type::kS64;
}

// -1, 0, 1 as a is less, equal, greater; 2 where a NaN is in it.
int Order(Type type, uint64_t a, uint64_t b) {
  if (type == Type::kF32) {
    const float left = FloatOf(a);
    const float right = FloatOf(b);
    if (left != left || right != right) {
      return 2;
    }
    return left < right ? -1 : static_cast<int>(left > right);
  }
  if (IsSigned(type)) {
    const int64_t left = SignedOf(type, a);
    const int64_t right = SignedOf(type, b);
    return left < right ? -1 : static_cast<int>(left > right);
  }
  return a < b ? -1 : static_cast<int>(a > b);
}

bool Compare(Op op, int order) {
  switch (op) {
    case Op::kSetEqual:
      return order == 0;
    case Op::kSetNotEqual:
      return order == -1 || order == 1;
    case Op::kSetLess:
      return order == -1;
    case Op::kSetLessEqual:
      return order == -1 || order == 0;
    case Op::kSetGreater:
      return order == 1;
    default:
      return order == 0 || order == 1;
  }
}

uint64_t ComputeFloat(Op op, float a, float b, float c) {
  switch (op) {
    case Op::kAdd:
      return BitsOf(a + b);
    case Op::kSub:
      return BitsOf(a - b);
    case Op::kMul:
      return BitsOf(a * b);
    default:
      return BitsOf(fmaf(a, b, c));
  }
}

uint64_t Shift(Op op, Type type, uint64_t a, uint64_t count) {
  const uint32_t bits = SizeOf(type) * 8;
  if (op == Op::kShiftLeft) {
    return count < bits ? a << count : 0;
  }
  if (IsSigned(type)) {
    return static_cast<uint64_t>(SignedOf(type, a) >> (count < bits ? count : bits - 1));
  }
  return count < bits ? a >> count : 0;
}

uint64_t ComputeInteger(Op op, Type type, const uint64_t (&in)[kMaxOperands]) {
  switch (op) {
    case Op::kAdd:
      return in[1] + in[2];
    case Op::kSub:
      return in[1] - in[2];
    case Op::kMul:
      return in[1] * in[2];
    case Op::kMulWide:
      return IsSigned(type) ? static_cast<uint64_t>(SignedOf(type, in[1]) * SignedOf(type, in[2]))
                            : in[1] * in[2];
    case Op::kMad:
      return in[1] * in[2] + in[3];
    case Op::kAnd:
      return in[1] & in[2];
    case Op::kOr:
      return in[1] | in[2];
    case Op::kXor:
      return in[1] ^ in[2];
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return Shift(op, type, in[1], in[2]);
    default:
      return in[1];  // kMov
  }
}

// One thread of a launch.
class Thread {
 public:
  Thread(const Launch& launch, const uint32_t (&block)[3], const uint32_t (&thread)[3])
      : launch_(launch), block_(block), thread_(thread) {}

  // Takes what it ran from `budget`.
  Fault Run(uint64_t& budget);

 private:
  uint64_t Value(const Operand& operand) const;
  uint32_t SpecialValue(const Operand& operand) const;
  Fault Step(const Instruction& instruction, uint32_t& next);
  Fault Access(const Instruction& instruction);
  void LoadParameter(const Instruction& instruction);
  void Compute(const Instruction& instruction);
  void Set(const Instruction& instruction, uint64_t value) {
    registers_[instruction.operands[0].index] = value;
  }

  const Launch& launch_;
  const uint32_t (&block_)[3];
  const uint32_t (&thread_)[3];
  uint64_t registers_[kMaxRegisters] = {};
};

uint32_t Thread::SpecialValue(const Operand& operand) const {
  switch (operand.special) {
    case Special::kThread:
      return thread_[operand.axis];
    case Special::kBlockSize:
      return launch_.block[operand.axis];
    case Special::kBlock:
      return block_[operand.axis];
    case Special::kGridSize:
      return launch_.grid[operand.axis];
  }
  return 0;
}

uint64_t Thread::Value(const Operand& operand) const {
  switch (operand.kind) {
    case OperandKind::kRegister:
      return registers_[operand.index];
    case OperandKind::kImmediate:
      return operand.immediate;
    case OperandKind::kSpecial:
      return SpecialValue(operand);
    case OperandKind::kNone:
      break;
  }
  return 0;
}

void Thread::LoadParameter(const Instruction& instruction) {
  uint64_t value = 0;
  memcpy(&value, launch_.parameters + instruction.operands[1].index, SizeOf(instruction.type));
  Set(instruction, value);
}

Fault Thread::Access(const Instruction& instruction) {
  const bool is_load = instruction.op == Op::kLoad;
  const Operand& place = instruction.operands[is_load ? 1 : 0];
  const uint64_t address = registers_[place.index] + place.immediate;
  const uint32_t size = SizeOf(instruction.type);
  if (address % size != 0) {
    return Fault::kMisaligned;
  }
  void* bytes = launch_.resolve(launch_.memory, address, size);
  if (bytes == nullptr) {
    return Fault::kIllegalAddress;
  }
  uint64_t value = 0;
  if (is_load) {
    memcpy(&value, bytes, size);
    Set(instruction, value);
  } else {
    value = Value(instruction.operands[1]);
    memcpy(bytes, &value, size);
  }
  return Fault::kNone;
}

void Thread::Compute(const Instruction& instruction) {
  uint64_t in[kMaxOperands] = {};
  for (uint32_t i = 1; i < kMaxOperands; ++i) {
    in[i] = Value(instruction.operands[i]);
  }
  const Op op = instruction.op;
  const Type type = instruction.type;
  if (op >= Op::kSetEqual && op <= Op::kSetGreaterEqual) {
    return Set(instruction, Compare(op, Order(type, in[1], in[2])) ? 1 : 0);
  }
  if (type == Type::kF32 && op != Op::kMov) {
    return Set(instruction, ComputeFloat(op, FloatOf(in[1]), FloatOf(in[2]), FloatOf(in[3])));
  }
  const uint64_t value = ComputeInteger(op, type, in);
  const bool is_narrow = SizeOf(type) == 4 && op != Op::kMulWide;
  Set(instruction, is_narrow ? value & UINT32_MAX : value);
}

Fault Thread::Step(const Instruction& instruction, uint32_t& next) {
  switch (instruction.op) {
    case Op::kLoadParameter:
      LoadParameter(instruction);
      return Fault::kNone;
    case Op::kLoad:
    case Op::kStore:
      return Access(instruction);
    case Op::kBranch:
      next = instruction.target;
      return Fault::kNone;
    case Op::kReturn:
      next = launch_.function->end;
      return Fault::kNone;
    default:
      Compute(instruction);
      return Fault::kNone;
  }
}

Fault Thread::Run(uint64_t& budget) {
  const Function& function = *launch_.function;
  for (uint32_t at = function.first; at < function.end;) {
    if (budget == 0) {
      return Fault::kTooLong;
    }
    --budget;
    const Instruction& instruction = launch_.module->instructions[at];
    uint32_t next = at + 1;
    const bool is_skipped = instruction.has_guard &&
                            (registers_[instruction.guard] != 0) == instruction.is_guard_negated;
    if (!is_skipped) {
      const Fault fault = Step(instruction, next);
      if (fault != Fault::kNone) {
        return fault;
      }
    }
    at = next;
  }
  return Fault::kNone;
}

// The place of thread or block number `index`, x first.
void Place(uint64_t index, const uint32_t (&size)[3], uint32_t (&place)[3]) {
  place[0] = static_cast<uint32_t>(index % size[0]);
  place[1] = static_cast<uint32_t>(index / size[0] % size[1]);
  place[2] = static_cast<uint32_t>(index / size[0] / size[1]);
}

}  // namespace

Fault Run(const Launch& launch) {
  uint64_t budget = launch.instruction_limit;
  const uint64_t blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  for (uint64_t i = 0; i < blocks; ++i) {
    uint32_t block[3];
    Place(i, launch.grid, block);
    for (uint64_t j = 0; j < threads; ++j) {
      uint32_t thread[3];
      Place(j, launch.block, thread);
      const Fault fault = Thread(launch, block, thread).Run(budget);
      if (fault != Fault::kNone) {
        return fault;
      }
    }
  }
  return Fault::kNone;
}

}  // namespace kgpu::ptx
