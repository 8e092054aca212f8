import { expect, it } from 'vitest'
import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import { asCsv, asJsonLines } from './files.js'

const event: AdminEvent = {
  id: '1',
  kind: 'user_disabled',
  reason: null,
  userId: 'u',
  username: 'ada',
  actorId: 'a',
  actor: 'grace',
  actorKey: null,
  details: null,
  actorReason: 'left, "for good"\nyesterday',
  sessionId: null,
  requestId: null,
  ip: '192.0.2.1',
  userAgent: '=HYPERLINK("https://evil.example")',
  device: 'Unknown device',
  createdAt: '2026-11-15T12:00:00Z',
}

it('the CSV file has each value in its own cell, and no formula', () => {
  expect(asCsv([event])).toBe(
    'createdAt,kind,reason,userId,username,actorId,actor,actorKey,actorReason,ip,device,userAgent,sessionId,requestId,id\r\n' +
      '2026-11-15T12:00:00Z,user_disabled,,u,ada,a,grace,,"left, ""for good""\nyesterday",192.0.2.1,Unknown device,' +
      '"\'=HYPERLINK(""https://evil.example"")",,,1\r\n',
  )
})

it.each(['=1', ' =1', '\u202e=1', '\u200b@x', '＝1', '\t1', '-1'])('%j is no formula', (userAgent) => {
  expect(asCsv([{ ...event, userAgent }])).toContain(`,'${userAgent},`)
})

it('the JSON file has one line for each event', () => {
  const lines = asJsonLines([event, { ...event, id: '2' }]).split('\n')
  expect(lines.map((line) => line && JSON.parse(line).id)).toEqual(['1', '2', ''])
})
