// These packages are not bundled, because they load other files of their own (machine code, WebAssembly, the code of a thread, word
// lists).
export const external = ['bcrypt', 'piscina', '@zxcvbn-ts/language-common', '@zxcvbn-ts/language-en']
