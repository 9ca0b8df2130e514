// Tests only: a child process that does something with CUDA while its parent looks on. Both talk
// over a pair of sockets, in messages of text with at most one descriptor.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>

#include "src/platform/base/unique_fd.h"

namespace kgpu::simcuda {

// One end of the pair.
class Talk {
 public:
  explicit Talk(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  bool Say(const std::string& text, int passed = -1) const {
    iovec part = {const_cast<char*>(text.data()), text.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (passed >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(header), &passed, sizeof(passed));
    }
    return sendmsg(fd_.get(), &message, MSG_NOSIGNAL) >= 0;
  }
  template <typename Value>
  bool SayValue(const Value& value) const {
    return Say(std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
  }

  // "" when the other side is gone. A descriptor goes to `passed`.
  std::string Hear(UniqueFd* passed = nullptr) const {
    char bytes[512];
    iovec part = {bytes, sizeof(bytes)};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t size = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    const cmsghdr* header = size >= 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header != nullptr && passed != nullptr) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(header), sizeof(fd));
      passed->Reset(fd);
    }
    return size > 0 ? std::string(bytes, static_cast<size_t>(size)) : std::string();
  }
  template <typename Value>
  Value HearValue() const {
    const std::string text = Hear();
    Value value{};
    EXPECT_EQ(text.size(), sizeof(value)) << "the other side is gone";
    memcpy(&value, text.data(), std::min(text.size(), sizeof(value)));
    return value;
  }

 private:
  UniqueFd fd_;
};

// Runs `work` in a child process; true is success.
class ChildSide {
 public:
  explicit ChildSide(const std::function<bool(const Talk&)>& work) : ChildSide(MakePair(), work) {}
  ~ChildSide() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      (void)Wait();
    }
  }
  ChildSide(const ChildSide&) = delete;
  ChildSide& operator=(const ChildSide&) = delete;

  pid_t pid() const { return pid_; }
  const Talk& talk() const { return talk_; }
  // The state of waitpid(2), once it has ended.
  int Wait() {
    int state = -1;
    EXPECT_EQ(waitpid(pid_, &state, 0), pid_);
    pid_ = 0;
    return state;
  }
  void Kill() {
    kill(pid_, SIGKILL);
    (void)Wait();
  }

 private:
  struct Pair {
    UniqueFd mine;
    UniqueFd childs;
  };
  static Pair MakePair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
  }
  ChildSide(Pair pair, const std::function<bool(const Talk&)>& work)
      : talk_(std::move(pair.mine)), pid_(fork()) {
    if (pid_ == 0) {
      // So that this side's end is not kept open by a child that runs longer than its parent.
      const Talk parents = std::move(talk_);
      const Talk talk(std::move(pair.childs));
      _exit(work(talk) ? 0 : 1);
    }
  }

  Talk talk_;
  pid_t pid_;
};

}  // namespace kgpu::simcuda
