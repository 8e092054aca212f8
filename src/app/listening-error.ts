import { OperatorError } from '../lib/operator-error.js'

const portInUse = 'The port is in use: set PORT to another one, or stop the program that has it.'
const unusableHost =
  'HOST cannot be listened on: it must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them.'

const sentences: Readonly<Record<string, string>> = {
  EADDRINUSE: portInUse,
  EACCES: 'This user may not listen on the port: set PORT to 1024 or higher, or give the program the right to.',
  ENOTFOUND: unusableHost,
  EAI_AGAIN: unusableHost,
  EADDRNOTAVAIL: unusableHost,
  EAFNOSUPPORT: unusableHost,
  EINVAL: unusableHost,
}

/** Why HOST and PORT cannot be listened on, in words that name the setting to change. */
export const listeningError = (cause: unknown) => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const sentence = sentences[code]
  return sentence === undefined ? cause : new OperatorError(sentence, { cause })
}
