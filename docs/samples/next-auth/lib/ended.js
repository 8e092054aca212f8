// One file for each session that has ended, with the time of the notice. A restart keeps them.
import { appendFile, mkdir, readFile } from 'node:fs/promises'

const folder = '/var/lib/shop/ended-sessions'
const fileOf = (sid) => `${folder}/${sid}`

export const noteEnd = async ({ sid, iat }) => {
  await mkdir(folder, { recursive: true })
  await appendFile(fileOf(sid), `${iat}\n`)
}

export const hasEnded = async ({ sid, signedInAt }) => {
  const times = await readFile(fileOf(sid), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return times.split('\n').some((time) => signedInAt <= Number(time))
}
