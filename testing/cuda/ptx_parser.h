// The PTX parser behind Parse(): one pass over the tokens, one kernel at a time.
#pragma once

#include "testing/cuda/ptx.h"
#include "testing/cuda/ptx_opcodes.h"
#include "testing/cuda/ptx_scanner.h"

namespace kgpu::ptx {

// A name that a kernel declares. Registers of one `.reg` are consecutive: %f<5> is %f0 … %f4.
struct RegisterRange {
  Token name;
  Type type;
  bool is_numbered;
  uint32_t first;
  uint32_t count;
};

struct Label {
  Token name;
  bool is_placed;
  uint32_t instruction;
  uint32_t line;  // of its first use
};

// Every step returns false after Fail; only the first error is kept.
class Parser {
 public:
  Parser(const char* text, size_t size, Module* module, char* error, size_t error_size);
  bool Run();

 private:
  // The module's own lines.
  bool ReadDirective();
  bool ReadVersion();
  bool ReadTarget();
  bool ReadKernel();
  bool ReadParameters();
  bool ReadParameter();
  bool ReadBody();
  bool ReadStatement();
  bool ReadRegisters();
  bool AddRegisters(Type type);
  bool PlaceLabel(const Token& name);
  bool ResolveLabels();

  // Instructions (ptx_instruction.cc).
  bool ReadGuarded();
  bool ReadInstruction(const Token& name, const Instruction& guard);
  bool ReadOperand(char kind, Type type, Operand* operand, Instruction* instruction);
  bool ReadSource(Type type, bool may_be_special, Operand* operand);
  bool ReadRegister(Type type, Operand* operand);
  bool ReadSpecial(Type type, Operand* operand);
  bool ReadAddress(Operand* operand);
  bool ReadParameterName(Type type, Operand* operand);
  bool ReadLabel(Instruction* instruction);
  const RegisterRange* FindRegister(const Token& name, uint32_t* index) const;

  void Advance() { token_ = scanner_.Next(); }
  bool Take(const char* word);    // consumes the token if it is this one
  bool Expect(const char* word);  // fails unless the token is this one
  bool ExpectName(char* out, const char* what);
  bool Fail(const char* what, const Token& token);

  Scanner scanner_;
  Module* module_;
  char* error_;
  size_t error_size_;
  Token token_;
  Function* function_ = nullptr;
  Token parameter_names_[kMaxParameters];
  RegisterRange registers_[kMaxRegisters];
  uint32_t range_count_ = 0;
  Label labels_[kMaxLabels];
  uint32_t label_count_ = 0;
};

inline bool IsSame(const Token& a, const Token& b) {
  return a.size == b.size && __builtin_memcmp(a.text, b.text, a.size) == 0;
}

}  // namespace kgpu::ptx
