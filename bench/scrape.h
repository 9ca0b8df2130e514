// A scraper, and a server that sends the same bytes from memory: the minimum cost of a scrape.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace kgpu::bench {

// A kept-alive connection to 127.0.0.1, blocking.
class Scraper {
 public:
  explicit Scraper(uint16_t port);
  ~Scraper();
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

  // The response to GET /metrics, head and body; empty if there is none. `coding`: "gzip" or "".
  std::string Get(const std::string& coding);
  // The same without keeping it: microseconds until the last byte has arrived.
  double TimeGet(const std::string& coding);

 private:
  // Calls `take` with every piece of the response; false if the connection ends.
  template <typename Take>
  bool Exchange(const std::string& coding, const Take& take);

  int socket_ = -1;
};

// A process that answers every request with `answer`, on one connection at a time.
class MemoryServer {
 public:
  explicit MemoryServer(const std::string& answer);
  ~MemoryServer();
  MemoryServer(const MemoryServer&) = delete;
  MemoryServer& operator=(const MemoryServer&) = delete;

  uint16_t port() const { return port_; }

 private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

// A port of 127.0.0.1 that is free now.
uint16_t FreePort();

}  // namespace kgpu::bench
