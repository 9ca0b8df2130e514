// Parses PTX into instructions: only the subset that our own kernels use. What the simulated GPU
// does not know is an error with its line, never a guess. C style: the simulated library has no C++
// runtime below it. Source: the PTX ISA reference.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::ptx {

inline constexpr size_t kMaxText = size_t{64} << 10;
inline constexpr uint32_t kMaxInstructions = 1024;  // of a module
inline constexpr uint32_t kMaxFunctions = 8;
inline constexpr uint32_t kMaxParameters = 12;
inline constexpr uint32_t kMaxRegisters = 256;  // of a function
inline constexpr uint32_t kMaxLabels = 64;
inline constexpr uint32_t kMaxOperands = 4;
inline constexpr size_t kNameSize = 64;

enum class Type : uint8_t { kNone, kPred, kB32, kU32, kS32, kF32, kB64, kU64, kS64 };

enum class Op : uint8_t {
  kMov,
  kLoadParameter,
  kLoad,
  kStore,
  kAdd,
  kSub,
  kMul,
  kMulWide,
  kMad,
  kFma,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
  kSetEqual,
  kSetNotEqual,
  kSetLess,
  kSetLessEqual,
  kSetGreater,
  kSetGreaterEqual,
  kBranch,
  kReturn,
};

enum class Special : uint8_t { kThread, kBlockSize, kBlock, kGridSize };  // %tid, %ntid, …

enum class OperandKind : uint8_t { kNone, kRegister, kImmediate, kSpecial };

struct Operand {
  OperandKind kind;
  Special special;     // of kSpecial
  uint16_t axis;       // of kSpecial: 0 x, 1 y, 2 z
  uint32_t index;      // register, or the byte offset of a parameter
  uint64_t immediate;  // bits; for an address: the offset added to the register
};

struct Instruction {
  Op op;
  Type type;
  bool has_guard;
  bool is_guard_negated;
  uint32_t guard;   // register
  uint32_t target;  // of kBranch: index of an instruction
  uint32_t line;
  Operand operands[kMaxOperands];
};

struct Function {
  char name[kNameSize];
  uint32_t first;  // instructions [first, end)
  uint32_t end;
  uint32_t register_count;
  uint32_t parameter_count;
  uint32_t parameter_offsets[kMaxParameters];
  uint32_t parameter_sizes[kMaxParameters];
  uint32_t parameter_bytes;
};

// Plain data; large, so it lives on the heap.
struct Module {
  uint32_t version;  // 60 for ".version 6.0"
  uint32_t target;   // 30 for ".target sm_30"
  uint32_t function_count;
  uint32_t instruction_count;
  Function functions[kMaxFunctions];
  Instruction instructions[kMaxInstructions];
};

// The size of values of `type` in bytes; 0 for predicates.
uint32_t SizeOf(Type type);

// False, with a line for people in `error`, if the text is not in the subset. Overwrites `module`.
// Time linear in the text, times the number of names in a function.
bool Parse(const char* text, size_t size, Module* module, char* error, size_t error_size);

// Null if the module has no such kernel.
const Function* FindFunction(const Module& module, const char* name);

}  // namespace kgpu::ptx
