import { OperatorError } from '../lib/operator-error.js'

type Names = { host: string; port: string }

const sentencesFor = ({ host, port }: Names, place: string): Readonly<Record<string, string>> => {
  const unusableHost = `${host} cannot be listened on: it must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them.`
  return {
    EADDRINUSE: `${place} is in use: set ${port} to another port, or stop the program that has it.`,
    EACCES: `This user may not listen on ${place}: set ${port} to 1024 or higher, or give the program the right to.`,
    ENOTFOUND: unusableHost,
    EAI_AGAIN: unusableHost,
    EADDRNOTAVAIL: unusableHost,
    EAFNOSUPPORT: unusableHost,
    EINVAL: unusableHost,
  }
}

/** An error that says why the port cannot be listened on, and names the setting to change. */
export const listeningError = (cause: unknown, names: Names = { host: 'HOST', port: 'PORT' }) => {
  const { code = '', address = names.host, port = names.port } = (cause ?? {}) as Partial<Record<string, string>>
  const sentence = sentencesFor(names, `${address}:${port}`)[code]
  return sentence === undefined ? cause : new OperatorError(sentence, { cause })
}
