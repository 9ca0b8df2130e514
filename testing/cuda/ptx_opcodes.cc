#include "testing/cuda/ptx_opcodes.h"

#include <cstring>

namespace kgpu::ptx {
namespace {

struct TypeName {
  const char* name;
  Type type;
  uint32_t size;
};

constexpr TypeName kTypes[] = {
    {"pred", Type::kPred, 0}, {"b32", Type::kB32, 4}, {"u32", Type::kU32, 4},
    {"s32", Type::kS32, 4},   {"f32", Type::kF32, 4}, {"b64", Type::kB64, 8},
    {"u64", Type::kU64, 8},   {"s64", Type::kS64, 8},
};

constexpr char kAll[] = " b32 u32 s32 f32 b64 u64 s64 ";
constexpr char kNumbers[] = " u32 s32 f32 u64 s64 ";
constexpr char kBits[] = " b32 b64 ";
constexpr char kIntegers[] = " u32 s32 u64 s64 ";

constexpr Opcode kOpcodes[] = {
    {"mov", Op::kMov, kAll, "dv"},
    {"ld.param", Op::kLoadParameter, kAll, "dn"},
    {"ld.global", Op::kLoad, kAll, "dm"},
    {"st.global", Op::kStore, kAll, "ms"},
    // All of our memory is global: the address stays what it is.
    {"cvta.to.global", Op::kMov, " u64 ", "ds"},
    {"add", Op::kAdd, kNumbers, "dss"},
    {"add.rn", Op::kAdd, " f32 ", "dss"},
    {"sub", Op::kSub, kNumbers, "dss"},
    {"sub.rn", Op::kSub, " f32 ", "dss"},
    {"mul", Op::kMul, " f32 ", "dss"},
    {"mul.rn", Op::kMul, " f32 ", "dss"},
    {"mul.lo", Op::kMul, kIntegers, "dss"},
    {"mul.wide", Op::kMulWide, " u32 s32 ", "wss"},
    {"mad.lo", Op::kMad, kIntegers, "dsss"},
    {"fma.rn", Op::kFma, " f32 ", "dsss"},
    {"and", Op::kAnd, kBits, "dss"},
    {"or", Op::kOr, kBits, "dss"},
    {"xor", Op::kXor, kBits, "dss"},
    {"shl", Op::kShiftLeft, kBits, "dsc"},
    {"shr", Op::kShiftRight, kIntegers, "dsc"},
    {"setp.eq", Op::kSetEqual, kNumbers, "pss"},
    {"setp.ne", Op::kSetNotEqual, kNumbers, "pss"},
    {"setp.lt", Op::kSetLess, kNumbers, "pss"},
    {"setp.le", Op::kSetLessEqual, kNumbers, "pss"},
    {"setp.gt", Op::kSetGreater, kNumbers, "pss"},
    {"setp.ge", Op::kSetGreaterEqual, kNumbers, "pss"},
    {"bra", Op::kBranch, "", "l"},
    {"bra.uni", Op::kBranch, "", "l"},
    {"ret", Op::kReturn, "", ""},
};

bool Equals(const char* name, const char* text, size_t size) {
  return strlen(name) == size && memcmp(name, text, size) == 0;
}

const char* NameOf(Type type) {
  for (const TypeName& entry : kTypes) {
    if (entry.type == type) {
      return entry.name;
    }
  }
  return "";
}

bool Takes(const Opcode& opcode, Type type) {
  const char* found = strstr(opcode.types, NameOf(type));
  return type != Type::kNone && found != nullptr;
}

}  // namespace

Type TypeOf(const char* text, size_t size) {
  for (const TypeName& entry : kTypes) {
    if (Equals(entry.name, text, size)) {
      return entry.type;
    }
  }
  return Type::kNone;
}

uint32_t SizeOf(Type type) {
  for (const TypeName& entry : kTypes) {
    if (entry.type == type) {
      return entry.size;
    }
  }
  return 0;
}

const Opcode* FindOpcode(const Token& name, Type* type) {
  size_t stem = name.size;
  for (size_t i = name.size; i > 0 && stem == name.size; --i) {
    stem = name.text[i - 1] == '.' ? i - 1 : name.size;
  }
  *type = stem == name.size ? Type::kNone : TypeOf(name.text + stem + 1, name.size - stem - 1);
  for (const Opcode& opcode : kOpcodes) {
    const bool has_type = opcode.types[0] != '\0';
    if (Equals(opcode.stem, name.text, has_type ? stem : name.size) &&
        (!has_type || Takes(opcode, *type))) {
      return &opcode;
    }
  }
  return nullptr;
}

}  // namespace kgpu::ptx
