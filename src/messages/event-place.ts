import { commandLineIp, readAddress, readRange } from '../http/request-origin.js'

import type { EventQuery } from './events.js'

/** Events without an IP address have one of these texts instead. */
const namedOrigins = [commandLineIp, 'unknown']

/** Reads an IP address, a network such as 192.0.2.0/24, or one of the texts above; undefined for any other text. */
export const readEventOrigin = (text: string): Pick<EventQuery, 'ip' | 'network'> | undefined => {
  if (namedOrigins.includes(text)) return { ip: text }
  const [ip, network] = text.includes('/') ? [undefined, readRange(text)] : [readAddress(text), undefined]
  if (ip !== undefined) return { ip }
  return network === undefined ? undefined : { network }
}
