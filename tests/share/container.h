// What a container with a slice looks like to its programs, without the container: a folder with
// the slots, programs that run with the library of the tests in front.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "src/preload/ledger.h"
#include "testing/temp_dir.h"

namespace kgpu::share {

inline constexpr char kDevice[] = "GPU-00112233-4455-6677-8899-aabbccddeeff";
inline constexpr uint64_t kMiB = 1 << 20;

class Container {
 public:
  // 20 GiB, of which a context costs 300 MiB; `more` are further lines of the limits. The driver is
  // in the folder `libraries`.
  explicit Container(const std::string& more = "", const std::string& libraries = KGPU_SHARE_FOLDER)
      : libraries_(libraries) {
    Write(0, "version 1\ndevice " + std::string(kDevice) + "\nmemory " +
                 std::to_string(20480 * kMiB) + "\ncontext " + std::to_string(300 * kMiB) + "\n" +
                 more);
  }
  void Write(int slot, const std::string& limits) const {
    const std::string folder = "kgpu-slots/" + std::to_string(slot);
    folder_.WriteFile(folder + "/limits", limits);
    folder_.WriteFile(folder + "/ledger", "");
  }
  const TempDir& folder() const { return folder_; }

  // A shell's command line for a program that has the library in front.
  std::string Command(const std::string& program, const std::string& environment = "") const {
    return "cd " + folder_.path() + " && " + environment + " LD_LIBRARY_PATH=" + libraries_ +
           " LD_PRELOAD=" KGPU_SHARE_TEST_LIBRARY " " KGPU_SHARE_FOLDER "/" + program +
           " 2>>stderr";
  }
  // What it prints; `status` gets how it ended, as of waitpid.
  std::string Run(const std::string& program, const std::string& environment = "",
                  int* status = nullptr) const {
    FILE* pipe = popen(Command(program, environment).c_str(), "re");
    std::string text;
    char part[4096];
    for (size_t got = 0; pipe != nullptr && (got = fread(part, 1, sizeof(part), pipe)) > 0;) {
      text.append(part, got);
    }
    const int ended = pipe == nullptr ? -1 : pclose(pipe);
    if (status != nullptr) {
      *status = ended;
    }
    return text;
  }
  // The steps of tests/share/client.cc.
  std::string Steps(const std::string& steps, const std::string& way = "dlsym") const {
    return Run("share_client " + way + " " + steps);
  }
  std::string Stderr() const { return folder_.ReadFile("stderr"); }

  preload::Ledger ReadLedger(int slot = 0) const {
    preload::Ledger ledger{};
    const std::string text = folder_.ReadFile("kgpu-slots/" + std::to_string(slot) + "/ledger");
    memcpy(static_cast<void*>(&ledger), text.data(), std::min(text.size(), sizeof(ledger)));
    return ledger;
  }

 private:
  TempDir folder_;
  std::string libraries_;
};

// A client that has done its steps, and keeps what it has: until it is told to go on with `then`,
// and after that until it is destroyed. `then` may have further steps "hold".
class HeldClient {
 public:
  HeldClient(const Container& container, const std::string& steps, const std::string& then = "") {
    const std::string fifo = container.folder().At("held");
    (void)unlink(fifo.c_str());
    EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const std::string all = steps + " hold" + (then.empty() ? "" : " " + then + " hold");
    pipe_ = popen((container.Command("share_client dlsym " + all) + " >" + fifo).c_str(), "we");
    output_.open(fifo);
    EXPECT_TRUE(Read()) << text_;
  }
  ~HeldClient() { (void)pclose(pipe_); }
  HeldClient(const HeldClient&) = delete;
  HeldClient& operator=(const HeldClient&) = delete;
  // Lets it do its next steps; false if it has ended.
  bool GoOn() {
    text_.clear();
    (void)fputc('x', pipe_);
    (void)fflush(pipe_);
    return Read();
  }
  // The output of its steps since it was last held.
  const std::string& text() const { return text_; }

 private:
  bool Read() {
    std::string line;
    while (std::getline(output_, line) && line != "held") {
      text_ += line + "\n";
    }
    return line == "held";
  }

  FILE* pipe_ = nullptr;
  std::ifstream output_;
  std::string text_;
};

}  // namespace kgpu::share
