import { once } from 'node:events'
import { createServer } from 'node:net'
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

/** Takes a free port, so that no other program can take it before `release`. */
const holdFreePort = async (host: string) => {
  const holder = createServer((socket) => socket.destroy()).listen(0, host)
  await once(holder, 'listening').catch((error: unknown) => {
    throw listeningError(error)
  })
  const address = holder.address()
  if (address === null || typeof address === 'string') throw new Error('The holder of a free port has no port')
  const release = async () => {
    if (!holder.listening) return
    holder.close()
    await once(holder, 'close')
  }
  return { port: address.port, release }
}

/**
 * With port 0 a free port is chosen now, because addresses in mails and redirects need it. It is held until the server takes it.
 * If `PUBLIC_URL` is not set, the public address gets this port too.
 */
export const reservePort = async <Config extends { host: string; port: number; publicUrl: string }>(config: Config) => {
  if (config.port !== 0) return { config, release: async () => {} }
  const { port, release } = await holdFreePort(config.host)
  const publicUrl = config.publicUrl === 'http://localhost:0' ? `http://localhost:${port}` : config.publicUrl
  return { config: Object.freeze({ ...config, port, publicUrl }), release }
}
