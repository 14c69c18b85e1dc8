# llama-cpp-sys-2 asks for llama.cpp's library "common" (what its own programs are made of) whatever features are chosen, and that was
# most of the time that its C++ took: with it 9 minutes on two cores, without it less than 2.5. Tiro uses nothing of it.
# `.cargo/config.toml` has this file read; without the file all is built and nothing of it linked.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "not used" FORCE)
