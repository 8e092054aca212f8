import { InvalidValue, list, type Read } from './setting-values.js'

/** Whose documents programs may come with: a host, and the beginning of the path. */
export type DocumentHost = { host: string; path: string }

const entryShape = /^([a-z\d-]+(?:\.[a-z\d-]+)*(?::[1-9]\d{0,4})?)(\/(?:[\w.~-]+\/)*)?$/i

const documentHost: Read<DocumentHost> = (value) => {
  const [, host = '', path = '/'] = entryShape.exec(value) ?? []
  const isPlain = host !== '' && !/\/\.\.|\/\.\//.test(path) && URL.canParse(`https://${host}`)
  if (!isPlain || new URL(`https://${host}`).host !== host.toLowerCase())
    throw new InvalidValue('must be hosts such as claude.ai, or with the beginning of a path: example.com/programs/')
  return { host: host.toLowerCase(), path }
}

export const documentHosts = list(documentHost)
