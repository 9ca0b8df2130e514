// The API server for commands, which send one request after another and wait for each.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

class BlockingClient {
 public:
  virtual ~BlockingClient() = default;
  // Errors: as Client::Send.
  virtual StatusOr<boost::json::value> Send(ApiRequest request) = 0;
  // Waits for that long.
  virtual void Wait(std::chrono::milliseconds time) = 0;
  virtual const Clock& clock() const = 0;
};

// Over a loop that nobody else runs.
class LoopClient final : public BlockingClient {
 public:
  // Both must outlive it.
  LoopClient(EpollLoop& loop, Client& client) : loop_(loop), client_(client) {}

  StatusOr<boost::json::value> Send(ApiRequest request) override;
  void Wait(std::chrono::milliseconds time) override;
  const Clock& clock() const override { return loop_.clock(); }

 private:
  EpollLoop& loop_;
  Client& client_;
};

// Sends a request whose repetition does no harm, again while the server cannot be reached or is
// overloaded, for up to `time`.
StatusOr<boost::json::value> SendUntilReached(BlockingClient& client, const ApiRequest& request,
                                              std::chrono::milliseconds time);

// Calls `use` with each object of a collection, chunk after chunk: no more than 500 are in memory.
// They are without apiVersion and kind, which servers leave out. Errors: those of Send; OutOfRange
// (the list was forgotten meanwhile: try again).
Status ForEachObject(BlockingClient& client, const std::string& path,
                     const std::string& label_selector,
                     const std::function<void(boost::json::value&&)>& use);
// All of them; for collections that are small.
StatusOr<std::vector<boost::json::value>> ListAll(BlockingClient& client, const std::string& path,
                                                  const std::string& label_selector = "");

}  // namespace kgpu::kube
