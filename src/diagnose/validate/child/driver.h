// libcuda.so.1 of a given file, and the lines that tell the parent what is done with it. Every step
// answers whether it went well; the first that does not has reported why.
#pragma once

#include <cstdint>

#include "src/diagnose/validate/abi.h"

namespace kgpu::validate::child {

class Driver {
 public:
  // Loads what the library will ask for by its name alone. Without it the library may do less.
  static void Preload(const char* path);
  // Loads the library. False: reported.
  bool Load(const char* path);

  // The next driver calls belong to `phase`.
  void Begin(const char* phase) const;
  void Set(const char* key, const char* format, ...) const __attribute__((format(printf, 3, 4)));
  // The last line. Returns false, for `return driver.Fail(…)`.
  bool Fail(int code, const char* format, ...) const __attribute__((format(printf, 3, 4)));

  // Calls function `name`. False, with its error reported, when it fails, or is not there.
  template <typename Fn, typename... Args>
  bool Call(const char* name, Args... args) const {
    void* symbol = Find(name);
    return symbol != nullptr ? Check(name, reinterpret_cast<Fn*>(symbol)(args...), "")
                             : Fail(cuda_api::kNotFound, "%s not found in the library", name);
  }
  // The same for functions that a driver may lack or refuse: nothing is reported.
  template <typename Fn, typename... Args>
  bool Try(const char* name, Args... args) const {
    void* symbol = Find(name);
    return symbol != nullptr && reinterpret_cast<Fn*>(symbol)(args...) == cuda_api::kSuccess;
  }
  // Compiles `ptx`; the error carries the compiler's words.
  bool Compile(const char* ptx, cuda_api::Module* module) const;

 private:
  void* Find(const char* name) const;
  bool Check(const char* name, cuda_api::Result result, const char* more) const;

  void* handle_ = nullptr;
};

uint64_t NowNs();  // CLOCK_MONOTONIC

}  // namespace kgpu::validate::child
