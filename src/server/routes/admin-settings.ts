import type { FastifyInstance } from 'fastify'
import { type SettingBody, settingBody, settingsAnswer } from '../../api/settings.js'
import type { SettingName } from '../../flow/settings.js'
import type { Holdfast } from '../../holdfast.js'
import { actor } from '../auth.js'
import { settingAnswer } from './admin-answers.js'

/** Settings of the whole installation. */
export function adminSettingRoutes(app: FastifyInstance, { flow }: Holdfast): void {
  const all = async () => ({
    settings: (await flow.settings()).map(settingAnswer),
  })

  app.get(
    '/admin/settings',
    {
      schema: {
        summary: 'The settings of the installation: what counts, what the code says, what an operator said',
        response: { 200: settingsAnswer },
      },
    },
    async (_request, reply) => reply.header('cache-control', 'no-store').send(await all()),
  )

  app.put<{ Body: SettingBody }>(
    '/admin/settings',
    {
      schema: {
        summary: 'Set one of them, or give it back to the code with null',
        body: settingBody,
        response: { 200: settingsAnswer },
      },
    },
    async (request) => {
      const { name, value, why } = request.body
      await flow.setSetting(name as SettingName, value, actor(request, why))
      return all()
    },
  )
}
