import { expect, it } from 'vitest'
import { createLog } from './log.js'

const logged = (work: (log: ReturnType<typeof createLog>) => void) => {
  let text = ''
  const write = (line: string) => {
    text += line
  }
  work(createLog({ level: 'info', format: 'plain', destination: { write } }))
  return text
}

it('writes one line for people with the fields behind the message', () => {
  const text = logged((log) => log.info({ status: 200, path: '/login', password: 'x' }, 'request'))
  expect(text).toMatch(/^\d\d:\d\d:\d\d info {2}request status=200 path=\/login password="\[hidden\]"\n$/)
})

it('lets nothing that a user sent begin a line, pass for a field or move the cursor', () => {
  const forged = 'x\n00:00:00 info  forged status=200 \u001b[2J\u009b2J'
  const text = logged((log) => {
    log.info({ userAgent: forged }, 'event')
    log.error({ err: new Error(forged) }, forged)
  })
  const lines = text.trimEnd().split('\n')
  expect(lines.filter((line) => line.startsWith('00:00:00'))).toEqual([])
  expect(lines.filter((line) => !line.startsWith('    '))).toHaveLength(2)
  expect(text).not.toMatch(/[\u001b\u009b]/)
  expect(lines[0]).toContain('userAgent="x\\n00:00:00 info  forged')
})
