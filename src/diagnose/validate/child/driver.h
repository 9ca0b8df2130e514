// libcuda.so.1 from a given file, and the lines that tell the parent about its use. Every step
// returns whether it succeeded; the first failure has already been reported.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/functions.h"

namespace kgpu::validate::child {

class Driver {
 public:
  // Loads what the library will request by bare name. Otherwise the library may support less.
  static void Preload(const char* path);
  // Loads the library. False: failed, and reported.
  bool Load(const char* path);

  // The next driver calls belong to `phase`.
  void Begin(const char* phase) const;
  void Set(const char* key, const char* format, ...) const __attribute__((format(printf, 3, 4)));
  // Prints the last line. Returns false, for `return driver.Fail(…)`.
  bool Fail(int code, const char* format, ...) const __attribute__((format(printf, 3, 4)));

  // Calls function `name`. False, with the error reported, if it fails or does not exist.
  template <typename Fn, typename... Args>
  bool Call(const char* name, Args... args) const {
    void* symbol = Find(name);
    return symbol != nullptr ? Check(name, reinterpret_cast<Fn*>(symbol)(args...), "")
                             : Fail(cuda_api::kNotFound, "%s not found in the library", name);
  }
  // The same for functions that a driver may lack or refuse: reports nothing.
  template <typename Fn, typename... Args>
  bool Try(const char* name, Args... args) const {
    void* symbol = Find(name);
    return symbol != nullptr && reinterpret_cast<Fn*>(symbol)(args...) == cuda_api::kSuccess;
  }
  // Compiles `ptx`; an error includes the compiler's message.
  bool Compile(const char* ptx, cuda_api::Module* module) const;

 private:
  void* Find(const char* name) const;
  bool Check(const char* name, cuda_api::Result result, const char* more) const;

  void* handle_ = nullptr;
};

uint64_t NowNs();  // CLOCK_MONOTONIC

}  // namespace kgpu::validate::child
