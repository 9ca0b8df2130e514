// What a C++ handler may use: the call it answers. C++17, no dependencies.
//
// A function is `std::string Handler(const std::string)`, as OpenFx has it. One that streams, or
// that sees headers, is `void StreamHandler(kgpu::fn::Call&)`: it is chosen by handler.name in
// config.yaml.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace kgpu::fn {

// One call; a handler uses it from its own thread. A std::exception thrown from the handler fails
// the call with its text.
class Call {
 public:
  class Impl;
  explicit Call(Impl& impl) : impl_(impl) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const std::string& input() const;
  const std::string& id() const;
  const std::string& method() const;
  // As received: escapes are not decoded.
  const std::string& path() const;
  const std::string& query() const;
  // Names are in lower case.
  const std::map<std::string, std::string>& headers() const;
  // Milliseconds that the call had when it came.
  long deadline_ms() const;

  // Before the first Write: the status code and headers of the answer.
  void SetStatus(int status);
  void SetHeader(const std::string& name, const std::string& value);
  // One field more of this name, such as a second Set-Cookie.
  void AddHeader(const std::string& name, const std::string& value);
  // Sends a piece of the answer now. False if nobody waits for it any more.
  bool Write(const char* bytes, std::size_t size);
  bool Write(const std::string& bytes) { return Write(bytes.data(), bytes.size()); }
  // Whether nobody waits for the answer any more.
  bool is_given_up() const;

 private:
  Impl& impl_;
};

}  // namespace kgpu::fn
