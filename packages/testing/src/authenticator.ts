const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
export const stepSeconds = 30

const decodeBase32 = (text: string) => {
  const bits = [...text].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}

/** The code of an authenticator app (RFC 6238) for a step of 30 seconds. */
export const codeAt = async (secret: string, step: number) => {
  const counter = new DataView(new ArrayBuffer(8))
  counter.setBigUint64(0, BigInt(step))
  const algorithm = { name: 'HMAC', hash: 'SHA-1' }
  const key = await crypto.subtle.importKey('raw', decodeBase32(secret), algorithm, false, ['sign'])
  const mac = new DataView(await crypto.subtle.sign('HMAC', key, counter))
  const number = mac.getUint32(mac.getUint8(19) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}
