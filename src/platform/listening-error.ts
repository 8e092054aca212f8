import { OperatorError } from '../lib/operator-error.js'

type Names = { host: string; port: string }

const sentencesFor = ({ host, port }: Names): Readonly<Record<string, string>> => {
  const unusableHost = `${host} cannot be listened on: it must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them.`
  return {
    EADDRINUSE: `The port is in use: set ${port} to another one, or stop the program that has it.`,
    EACCES: `This user may not listen on the port: set ${port} to 1024 or higher, or give the program the right to.`,
    ENOTFOUND: unusableHost,
    EAI_AGAIN: unusableHost,
    EADDRNOTAVAIL: unusableHost,
    EAFNOSUPPORT: unusableHost,
    EINVAL: unusableHost,
  }
}

/** Why an address cannot be listened on, in words that name the setting to change. */
export const listeningError = (cause: unknown, names: Names = { host: 'HOST', port: 'PORT' }) => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const sentence = sentencesFor(names)[code]
  return sentence === undefined ? cause : new OperatorError(sentence, { cause })
}
