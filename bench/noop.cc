// The least a program can do: the floor for everything that starts a process.
int main() {
  return 0;
}
