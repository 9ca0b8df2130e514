#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "kgpu/fn.h"
#include "kgpu/mesh.h"

namespace {

std::string ValueOf(const kgpu::fn::Call& call, const std::string& name) {
  const auto found = call.headers().find(name);
  return found == call.headers().end() ? "" : found->second;
}

void Misbehave(const std::string& word) {
  if (word == "throw") {
    throw std::runtime_error("no such thing");
  }
  if (word == "exit") {
    std::_Exit(3);
  }
  if (word == "crash") {
    std::raise(SIGSEGV);
  }
  while (word == "hang") {
    pause();
  }
}

// Status or headers that no HTTP response can have.
void SpoilHead(kgpu::fn::Call& call, const std::string& word) {
  if (word == "bad-status") {
    call.SetStatus(999);
  } else if (word == "bad-name") {
    call.SetHeader("Bad Header", "x");
  } else if (word == "bad-value") {
    call.SetHeader("X-A", "x\r\nSet-Cookie: stolen=1");
  } else if (word == "big-head") {
    call.SetHeader("X-A", std::string(2 << 20, 'x'));
  }
}

}  // namespace

void StreamHandler(kgpu::fn::Call& call) {
  const std::string& input = call.input();
  const std::string word = input.substr(0, input.find_first_of(" \n"));
  Misbehave(word);
  while (word == "flood" && call.Write(std::string(65536, 'x'))) {
  }
  SpoilHead(call, word);
  if (word == "cookies") {
    call.SetHeader("Set-Cookie", "a=1; Path=/");
    call.AddHeader("Set-Cookie", "b=2; Path=/");
    call.SetHeader("X-Number", "7");
    call.Write("set");
  } else if (word == "head") {
    call.SetStatus(418);
    call.SetHeader("X-Pot", "tea");
    call.Write(call.method() + " " + call.path() + " " + call.query() + " " +
               ValueOf(call, "traceparent") + " " + call.id());
  } else if (word == "mesh") {
    call.Write(MeshCall("other", input.substr(5)));
  } else if (word == "stream") {
    for (int i = 0; i < std::atoi(input.c_str() + word.size()); ++i) {
      call.Write("piece " + std::to_string(i) + "\n");
    }
  } else {
    if (word == "print") {
      std::puts("a line of the log");
      std::fputs("an error of the log\n", stderr);
    }
    call.Write(input);
  }
}
