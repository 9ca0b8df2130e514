// The instructions by name: which exist, for which types, and with which operands.
#pragma once

#include "testing/cuda/ptx.h"
#include "testing/cuda/ptx_scanner.h"

namespace kgpu::ptx {

struct Opcode {
  const char* stem;  // the name without its type: "mad.lo"
  Op op;
  const char* types;  // between blanks; "" for none
  // One letter each: d destination, w destination of twice the size, p predicate as destination,
  // s source, v the same or a special register, c source of 32 bits, n name of a parameter,
  // m address in memory, l label.
  const char* operands;
};

// Null if the name is not in the subset; `type` is set to the instruction's.
const Opcode* FindOpcode(const Token& name, Type* type);

// For ".u32" and the like without the dot; kNone if it is no type.
Type TypeOf(const char* text, size_t size);

}  // namespace kgpu::ptx
