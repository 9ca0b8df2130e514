// A fate that ends a run at any of its actions, and a disk that obeys it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::change {

// Every action asks it first; programs ask again afterwards. After its last action the process
// counts as killed: nothing is done any more, or it exits immediately.
class Fate {
 public:
  enum class End { kNone, kDead, kExit };

  explicit Fate(End end = End::kNone, int lives = 0) : end_(end), lives_(lives) {}

  Status Live() {
    ++actions_;
    if (end_ == End::kNone || --lives_ >= 0) {
      return OkStatus();
    }
    is_dead_ = true;
    if (end_ == End::kExit) {
      _exit(7);
    }
    return Internal("dead");
  }
  bool is_dead() const { return is_dead_; }
  int actions() const { return actions_; }

 private:
  End end_;
  int lives_;
  int actions_ = 0;
  bool is_dead_ = false;
};

class MortalDisk final : public Disk {
 public:
  MortalDisk(Disk& disk, Fate& fate) : disk_(disk), fate_(fate) {}

  Status Write(const std::string& path, std::string_view bytes, mode_t mode) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Write(path, bytes, mode);
  }
  Status Replace(const std::string& path, std::string_view bytes,
                 const Attributes& attributes) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Replace(path, bytes, attributes);
  }
  Status Remove(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Remove(path);
  }
  Status Link(const std::string& path, const std::string& target) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Link(path, target);
  }
  Status MakeFolder(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.MakeFolder(path);
  }
  Status RemoveFolder(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.RemoveFolder(path);
  }
  Status Move(const std::string& path, const std::string& to) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Move(path, to);
  }
  Status Tidy(const std::string& path) override {
    RETURN_IF_ERROR(fate_.Live());
    return disk_.Tidy(path);
  }

 private:
  Disk& disk_;
  Fate& fate_;
};

}  // namespace kgpu::change
