import { deviceName } from '#contract/device-names.js'
import type { Factors } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'

type Props = { devices: Factors['trustedDevices']; onChanged: () => Promise<void> }

/** Browsers that need no code. */
export const TrustedDevices = ({ devices, onChanged }: Props) => {
  const words = useWords('two-step')
  const dashboard = useWords('dashboard')
  const { locale } = useSettings()
  const actions = useDashboardActions()
  const remove = async (id: string) => {
    const answer = await actions.withFreshSignIn(() => client.removeTrustedDevice(id))
    if (answer.refused) return actions.showRefusal(answer)
    await onChanged()
  }
  if (devices.length === 0) return null
  return (
    <>
      <p class="panel-lead">{words.trusted}</p>
      <ul class="row-list">
        {devices.map((device) => (
          <li key={device.id}>
            <div class="row-body">
              <div class="row-text">
                <strong>{deviceName(device, dashboard)}</strong>
                <span>
                  {device.ip} · {fill(words.trustedUntil, { date: fullDate(device.expiresAt, locale) })}
                </span>
              </div>
              <Button
                label={fill(words.stopTrustingOf, { device: deviceName(device, dashboard), ip: device.ip })}
                onPress={() => remove(device.id)}
              >
                {words.stopTrusting}
              </Button>
            </div>
          </li>
        ))}
      </ul>
    </>
  )
}
