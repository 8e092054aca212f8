import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { read } from '../support/project.js'

type Step = { uses?: string; run?: string; with?: Record<string, unknown> }
type Job = { permissions?: Record<string, string>; needs?: string[]; steps: Step[] }
type Workflow = { on: Record<string, unknown>; permissions: Record<string, string>; jobs: Record<string, Job> }

const folder = fileURLToPath(new URL('../../.github/workflows/', import.meta.url))
let workflows: Record<string, Workflow>
beforeAll(async () => {
  const names = await readdir(folder)
  workflows = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, parse(await read(`.github/workflows/${name}`))])),
  )
})

const jobsOf = () => Object.values(workflows).flatMap(({ jobs }) => Object.entries(jobs))
const writes = ({ permissions = {} }: Job) => Object.values(permissions).includes('write')

describe('the workflows', () => {
  it('run nothing of others but at a fixed commit, and leave no credential in the clone', () => {
    const steps = jobsOf().flatMap(([, { steps }]) => steps)
    const used = steps.flatMap(({ uses }) => uses ?? [])
    expect(used.filter((each) => !/^[\w-]+\/[\w-]+@[\da-f]{40}$/.test(each))).toEqual([])
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    expect(checkouts.map((step) => step.with?.['persist-credentials'])).toEqual(checkouts.map(() => false))
    expect(checkouts.length).toBeGreaterThan(2)
  })

  it('may write in one job only, which runs no code of the repository and no package', () => {
    for (const { permissions } of Object.values(workflows)) expect(permissions).toEqual({ contents: 'read' })
    expect(jobsOf().flatMap(([name, job]) => (writes(job) ? [name] : []))).toEqual(['publish'])
    const { publish } = workflows['release.yml']?.jobs ?? {}
    expect(publish?.needs).toEqual(['test', 'release'])
    expect(publish?.permissions).toEqual({ contents: 'write', 'id-token': 'write', attestations: 'write' })
    const actions = publish?.steps.flatMap(({ uses }) => uses?.split('@')[0] ?? [])
    expect(actions).toEqual(['actions/download-artifact', 'actions/attest-build-provenance'])
    const scripts = publish?.steps.flatMap(({ run }) => run ?? []) ?? []
    expect(scripts.map((script) => script.split(' ')[0])).toEqual(['sha256sum', 'gh'])
    // Every file, SHA256SUMS too.
    expect(publish?.steps.find(({ uses }) => uses?.includes('attest'))?.with).toEqual({ 'subject-path': 'release/*' })
  })

  it('ask for known weaknesses of the packages once a week, and install nothing for that', () => {
    const { on, jobs } = workflows['audit.yml'] as Workflow
    expect(on.schedule).toEqual([{ cron: expect.stringMatching(/^\d+ \d+ \* \* \d$/) }])
    const scripts = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))
    expect(scripts).toEqual(['npm run audit -- --package-lock-only'])
  })
})
