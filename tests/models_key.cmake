# Writes a header with a hash of the contents of FILES and of the compiler.
set(text ${COMPILER})
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND text ${hash})
endforeach()
string(SHA256 key "${text}")
string(SUBSTRING ${key} 0 16 key)
file(WRITE ${OUTPUT} "#pragma once\n\n#define SINEW_MODELS_KEY \"${key}\"\n")
